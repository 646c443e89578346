import { lstatSync, readlinkSync } from "node:fs";
import type { Entry } from "../../application/ports/view.ts";

/** The entry at an absolute path, the last component not followed. */
export function readEntryAt(absolute: string): Entry {
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "missing" };
  if (stats.isFile()) return { kind: "file", mode: stats.mode & 0o7777, size: stats.size };
  if (stats.isDirectory()) return { kind: "directory", mode: stats.mode & 0o7777 };
  return stats.isSymbolicLink() ? { kind: "symlink", target: readlinkSync(absolute) } : { kind: "other" };
}
