import { chmodSync, lstatSync, writeFileSync } from "node:fs";
import type { EntryState } from "../../application/ports/jobs-transaction.ts";
import type { Entry } from "../../application/ports/view.ts";
import { inParent } from "./anchor.ts";
import { identify } from "./entry-identity.ts";

/** What stands at a path below a root, no symlink followed. */
export function currentEntryBelow(root: string, path: string): EntryState | null {
  const found = path === "" ? null : identify(root, path);
  return found === null ? null : { kind: found.kind, mode: found.mode };
}

export function toStanding(entry: Entry): EntryState | null {
  switch (entry.kind) {
    case "missing":
      return null;
    case "file":
    case "directory":
      return { kind: entry.kind, mode: entry.mode };
    case "symlink":
    case "other":
      return { kind: entry.kind, mode: 0o777 };
  }
}

/** Other bytes for a file that stands; no symlink is followed, its mode stays. */
export function rewriteFile(root: string, path: string, bytes: Uint8Array): void {
  inParent(root, path, (folder, name) => {
    const at = `${folder}/${name}`;
    const stats = lstatSync(at);
    if (!stats.isFile()) return;
    chmodSync(at, 0o600);
    writeFileSync(at, bytes);
    chmodSync(at, stats.mode & 0o7777);
  });
}
