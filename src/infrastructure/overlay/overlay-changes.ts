import { lstatSync } from "node:fs";
import { join, relative } from "node:path";
import type { Change } from "../../domain/patch/result.ts";
import { walk } from "../workspace/walk.ts";
import { type FirstSight, standsAt } from "./first-sight.ts";
import { walkUpper } from "./upper.ts";

interface Seen {
  readonly ctime: bigint;
  readonly present: boolean;
  readonly isFolder: boolean;
}

/** Tells what one command changed: the difference between two looks at the uppers. Cost follows the changes. */
export function createChangeWatch(
  roots: readonly { readonly path: string; readonly upper: string }[],
  workspace: string,
  sight: FirstSight,
): () => Change[] {
  let last = new Map<string, Seen>();
  return () => {
    const now = new Map<string, Seen>();
    const changes: Change[] = [];
    const shut: string[] = [];
    for (const root of roots) {
      const unreadable = (path: string) => void shut.push(`${join(root.path, path)}/`);
      for (const { path, stats, kind } of walkUpper(root.upper, { unreadable })) {
        if (kind === "other") continue;
        const absolute = join(root.path, path);
        sight.note(absolute);
        const isFolder = kind === "directory" || kind === "opaque";
        const seen: Seen = { ctime: stats.ctimeNs, present: kind !== "gone", isFolder };
        now.set(absolute, seen);
        if (kind === "opaque" && last.get(absolute) === undefined)
          changes.push(...goneBelow(absolute, join(root.upper, path), workspace));
        const before = last.get(absolute);
        if (
          before !== undefined &&
          before.present === seen.present &&
          before.isFolder === isFolder &&
          (isFolder || before.ctime === seen.ctime)
        )
          continue;
        const existed = before?.present ?? standsAt(absolute);
        const wasFolder = before?.isFolder ?? isFolderAt(absolute);
        if (seen.present === existed && isFolder && wasFolder) continue;
        if (!seen.present && !existed) continue;
        // Whatever stands in a folder's place, all that the folder held is gone.
        if (!isFolder && wasFolder && before === undefined)
          changes.push(...goneBelow(absolute, null, workspace));
        changes.push({
          path: relative(workspace, absolute),
          kind: seen.present ? (existed ? "modified" : "added") : "deleted",
        });
      }
    }
    for (const [absolute, before] of last) {
      // A folder that the job shut to itself is taken to hold what it held.
      if (shut.some((folder) => absolute.startsWith(folder))) now.set(absolute, before);
      if (before.present && !now.has(absolute))
        changes.push({ path: relative(workspace, absolute), kind: "deleted" });
    }
    last = now;
    return changes
      .filter(({ path }) => !/(^|\/)\.git\/(.*\/)?objects\//.test(path))
      .sort((x, y) => (x.path < y.path ? -1 : 1));
  };
}

/** Everything that went with a deleted folder (or with the former contents of an opaque one), name by name. */
function goneBelow(lower: string, upper: string | null, workspace: string): Change[] {
  if (!isFolderAt(lower)) return [];
  const changes: Change[] = [];
  for (const { path } of walk(lower)) {
    const stays = upper !== null && standsAt(join(upper, path));
    if (!stays) changes.push({ path: relative(workspace, join(lower, path)), kind: "deleted" });
  }
  return changes;
}

function isFolderAt(absolute: string): boolean {
  return standsAt(absolute) && lstatSync(absolute).isDirectory();
}
