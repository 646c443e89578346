import { walkFolder } from "./walk-folder.ts";
import type { CopiedRoot } from "./copied-roots.ts";

/** Stands for the ctime of a folder: it comes and goes, but what happens in it is told by its entries. */
export const FOLDER = -1n;

/** Copies as of one look: `<root>:<path>` → ctime. */
export type CopyLook = Map<string, bigint>;

/** A folder that the job shut to itself is taken to hold what it held. */
export function lookAtCopies(copies: readonly CopiedRoot[], before: ReadonlyMap<string, bigint>): CopyLook {
  const now: CopyLook = new Map();
  const shut: string[] = [];
  copies.forEach(({ copy }, i) => {
    const unreadable = (path: string) => void shut.push(`${i}:${path}/`);
    for (const { path, stats } of walkFolder(copy, { unreadable }))
      now.set(`${i}:${path}`, stats.isDirectory() ? FOLDER : stats.ctimeNs);
  });
  for (const [key, ctime] of shut.length === 0 ? [] : before)
    if (shut.some((prefix) => key.startsWith(prefix))) now.set(key, ctime);
  return now;
}
