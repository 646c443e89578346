import { type BigIntStats, chmodSync, chownSync, closeSync, mkdirSync, openSync } from "node:fs";
import { copyXattrs } from "../platform/xattr.ts";
import { stripMarks } from "./strip-marks.ts";

/** A folder of an upper made anew, with owner, attributes and access lists, but without the overlay's marks. */
export function makeFreshFolder(at: string, from: string, stats: BigIntStats): void {
  const mode = Number(stats.mode & 0o7777n);
  mkdirSync(at);
  if (process.getuid?.() === 0) chownSync(at, Number(stats.uid), Number(stats.gid));
  const descriptor = openSync(at, "r");
  copyXattrs(from, descriptor);
  closeSync(descriptor);
  chmodSync(at, mode);
  stripMarks(at, mode);
}
