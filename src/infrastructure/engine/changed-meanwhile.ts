import { join } from "node:path";
import { identifyAt } from "./entry-identity.ts";
import type { CopiedRoot } from "./copied-roots.ts";
import type { Manifest } from "./manifest.ts";

const MEANWHILE_LIMIT = 20;

/** Paths of the workspace that somebody, or the job past its view, changed while the job ran. */
export function changedMeanwhile(
  copies: readonly CopiedRoot[],
  manifests: readonly Manifest[],
  planned: ReadonlySet<string>,
): string[] {
  const changed: string[] = [];
  copies.forEach(({ original }, i) => {
    const manifest = manifests[i] as Manifest;
    for (const [path, then] of manifest.entries) {
      if (changed.length >= MEANWHILE_LIMIT) break;
      if (then.kind === "directory" || planned.has(`${i}:${path}`)) continue;
      if (identifyAt(join(original, path))?.ctime !== then.ctime) changed.push(join(original, path));
    }
  });
  return changed;
}
