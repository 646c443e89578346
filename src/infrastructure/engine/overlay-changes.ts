import type { BigIntStats } from "node:fs";
import type { Change } from "../../domain/jobs/result.ts";
import { pathBelow } from "./path-below.ts";
import { walkFolder } from "./walk-folder.ts";
import { entryExistsAt, type FirstSight, statEntryAt } from "./first-sight.ts";
import { type LaidRoot, walkUpper } from "./overlay-layers.ts";

interface SeenChange {
  readonly ctime: bigint;
  readonly present: boolean;
  readonly isFolder: boolean;
  /** Nothing of what the workspace has there shows. */
  readonly hidesLower: boolean;
}

/** Tells what one command changed: the difference between two looks at the uppers. Cost follows the changes. */
export function createChangeWatch(
  roots: readonly LaidRoot[],
  workspace: string,
  sight: FirstSight,
): () => Change[] {
  let last = new Map<string, SeenChange>();
  return () => {
    const now = new Map<string, SeenChange>();
    const changes: Change[] = [];
    const shut: string[] = [];
    for (const root of roots) {
      const unreadable = (path: string) => void shut.push(`${root.path}/${path}/`);
      for (const { path, stats, kind, inherits } of walkUpper(root, { unreadable })) {
        if (kind === "other") continue;
        const absolute = `${root.path}/${path}`;
        const below = createLazyStat(absolute);
        sight.note(absolute, below);
        const isFolder = kind === "directory" || kind === "opaque";
        const present = kind !== "gone";
        const seen: SeenChange = {
          ctime: stats.ctimeNs,
          present,
          isFolder,
          hidesLower: kind !== "directory",
        };
        now.set(absolute, seen);
        const before = last.get(absolute);
        // Whatever stands in a folder's place, all that the folder held is gone.
        if (seen.hidesLower && !inherits && before?.hidesLower !== true)
          for (const gone of below()?.isDirectory() !== true
            ? []
            : goneBelow(absolute, isFolder ? `${root.upper}/${path}` : null, last))
            changes.push({ path: pathBelow(workspace, gone), kind: "deleted" });
        if (
          before !== undefined &&
          before.present === seen.present &&
          before.isFolder === isFolder &&
          (isFolder || before.ctime === seen.ctime)
        )
          continue;
        const existed = before?.present ?? below() !== undefined;
        const wasFolder = before?.isFolder ?? below()?.isDirectory() === true;
        if (seen.present === existed && isFolder && wasFolder) continue;
        if (!seen.present && !existed) continue;
        changes.push({
          path: pathBelow(workspace, absolute),
          kind: seen.present ? (existed ? "modified" : "added") : "deleted",
        });
      }
    }
    for (const [absolute, before] of last) {
      // A folder that the job shut to itself is taken to hold what it held.
      if (shut.some((folder) => absolute.startsWith(folder))) now.set(absolute, before);
      if (before.present && !now.has(absolute))
        changes.push({ path: pathBelow(workspace, absolute), kind: "deleted" });
    }
    last = now;
    return changes
      .filter(({ path }) => !/(^|\/)\.git\/(.*\/)?objects\//.test(path))
      .sort((x, y) => (x.path < y.path ? -1 : 1));
  };
}

/**
 * Everything that went with a folder of the workspace, or with the former contents of an opaque one, name by name; but
 * for what the last look knew of.
 */
function* goneBelow(
  lower: string,
  upper: string | null,
  last: ReadonlyMap<string, SeenChange>,
): Generator<string> {
  const enter = (path: string) => last.get(`${lower}/${path}`)?.hidesLower !== true;
  for (const { path } of walkFolder(lower, { enter, noText: true })) {
    const absolute = `${lower}/${path}`;
    const stays = upper !== null && entryExistsAt(`${upper}/${path}`);
    if (!stays && !last.has(absolute)) yield absolute;
  }
}

/** What stands at a path of the workspace, looked at once and not before it is asked for. */
function createLazyStat(absolute: string): () => BigIntStats | undefined {
  let seen: BigIntStats | undefined | null = null;
  return () => {
    if (seen === null) seen = statEntryAt(absolute);
    return seen;
  };
}
