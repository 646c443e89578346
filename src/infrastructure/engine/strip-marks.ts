import { chmodSync, lstatSync } from "node:fs";
import { listXattrs, removeXattr } from "../platform/xattr.ts";

const MARK = /^(user|trusted)\.overlay\./;

/** Copied-up files carry the overlay's own attributes; in the workspace they would confuse the next overlay. */
export function stripMarks(path: string, mode = lstatSync(path).mode & 0o7777): void {
  const names = listXattrs(path);
  const marks = names.ok ? names.value.filter((name) => MARK.test(name)) : [];
  if (marks.length === 0) return;
  const isShut = (mode & 0o600) !== 0o600;
  if (isShut) chmodSync(path, mode | 0o600);
  for (const name of marks) removeXattr(path, name);
  if (isShut) chmodSync(path, mode);
}
