import { linkSync, lstatSync, renameSync, unlinkSync } from "node:fs";
import { AT_FDCWD, renameExchange, renameNoReplace } from "../platform/rename.ts";

/** Both names change places; false where the file system cannot do that in one step. */
export function exchange(a: string, b: string): boolean {
  const done = renameExchange(AT_FDCWD, a, AT_FDCWD, b);
  if (done.ok) return true;
  if (done.reason === "unsupported" || CANNOT.has(done.code)) return false;
  throw Object.assign(new Error(`${done.code}: exchange '${a}' with '${b}'`), { code: done.code });
}

/** Moves to a free name only: what somebody made there meanwhile is never overwritten. False when it is taken. */
export function moveIfFree(from: string, to: string): boolean {
  const done = renameNoReplace(AT_FDCWD, from, AT_FDCWD, to);
  if (done.ok) return true;
  if (done.reason === "failed" && done.code === "EEXIST") return false;
  if (done.reason === "failed" && !CANNOT.has(done.code))
    throw Object.assign(new Error(`${done.code}: rename '${from}' to '${to}'`), { code: done.code });
  return moveByLink(from, to);
}

/** What a file system or kernel without the flag answers. */
const CANNOT = new Set(["EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

function moveByLink(from: string, to: string): boolean {
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    renameSync(from, to);
    return true;
  }
  unlinkSync(from);
  return true;
}
