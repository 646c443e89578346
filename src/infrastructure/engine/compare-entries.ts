import { lstatSync, readlinkSync } from "node:fs";
import { getXattr, listXattrs } from "../platform/xattr.ts";
import type { Identity } from "./entry-identity.ts";

export interface EntryPair {
  readonly a: Identity;
  readonly b: Identity;
  readonly aHash: string | undefined;
  readonly bHash: string | undefined;
  readonly isIndex: boolean;
  /** Where the two stand now. */
  readonly from: string;
  readonly to: string;
}

/**
 * Whether nothing a person could see differs: kind, mode, owner, bytes and attributes; the time of change stands in for
 * bytes that are too many to read.
 */
export function isVisiblySame({ a, b, aHash, bHash, isIndex, from, to }: EntryPair): boolean {
  if (a.kind !== b.kind || a.mode !== b.mode || !sameOwner(a, b)) return false;
  if (isIndex) return aHash !== undefined && aHash === bHash;
  if (a.kind === "symlink") return readlinkSync(to) === readlinkSync(from);
  if (a.kind === "other") return true;
  if (a.size !== b.size || (aHash !== undefined && aHash !== bHash) || !sameAttributes(from, to))
    return false;
  return aHash !== undefined || a.mtime === b.mtime;
}

/** Whether the two differ in nothing but their mode, and the file has no other name that a change would reach. */
export function onlyModeDiffers(compared: EntryPair): boolean {
  const { a, b, from } = compared;
  if (a.kind !== "file" || a.mode === b.mode || compared.aHash === undefined) return false;
  if (!isVisiblySame({ ...compared, b: { ...b, mode: a.mode } })) return false;
  return lstatSync(from, { throwIfNoEntry: false })?.nlink === 1;
}

/** Only root can give files away; for others a copy may have got another owner by itself. */
function sameOwner(a: Identity, b: Identity): boolean {
  return process.getuid?.() !== 0 || (a.uid === b.uid && a.gid === b.gid);
}

export function sameAttributes(from: string, to: string): boolean {
  const [before, after] = [attributeNames(from), attributeNames(to)];
  if (before.length !== after.length) return false;
  return before.every((name) => {
    const [was, is] = [getXattr(from, name), getXattr(to, name)];
    return was.ok && is.ok && Buffer.from(was.value).equals(is.value);
  });
}

/** Users' own attributes and access lists; what an overlay notes for itself is nobody's. */
function attributeNames(path: string): readonly string[] {
  const names = listXattrs(path);
  if (!names.ok) return [];
  return names.value.filter(
    (name) =>
      (name.startsWith("user.") && !name.startsWith("user.overlay.")) || name.startsWith("system.posix_acl_"),
  );
}
