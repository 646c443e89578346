import type { WalkedEntry } from "./walk-folder.ts";

/** Names of a copy that are no UTF-8, as people can read them, with mode and time. */
export type ByteLook = ReadonlyMap<
  string,
  { readonly mode: bigint; readonly ctime: bigint; readonly isFolder: boolean }
>;

export function byteLook(entries: Iterable<WalkedEntry>): ByteLook {
  const look = new Map<string, { mode: bigint; ctime: bigint; isFolder: boolean }>();
  for (const { path, stats, noText } of entries)
    if (noText) look.set(path, { mode: stats.mode, ctime: stats.ctimeNs, isFolder: stats.isDirectory() });
  return look;
}

/** Which of them a job made, changed or took away. `goesWhole`: whether the folder of a path is gone as a whole. */
export function touchedBytes(
  before: ByteLook,
  now: ByteLook,
  goesWhole: (path: string) => boolean,
): readonly string[] {
  const touched: string[] = [];
  for (const [path, { mode, ctime, isFolder }] of now) {
    const then = before.get(path);
    if (then === undefined || then.mode !== mode || (!isFolder && then.ctime !== ctime)) touched.push(path);
  }
  for (const path of before.keys()) if (!now.has(path) && !goesWhole(path)) touched.push(path);
  return touched;
}
