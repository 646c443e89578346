import { cStringInto, DONE, failure, type LibcFailure, type LibcResult, libc, UNSUPPORTED } from "./libc.ts";

/** A path is taken without following a symlink at its end. */
export type XattrSource = string | Uint8Array | number;

const DARWIN_NOFOLLOW = 1;
const GROWN_BETWEEN_CALLS = "ERANGE";
const NO_SUCH_ATTRIBUTE = new Set(["ENODATA", "ENOATTR", "errno 93"]);
const CANNOT_HOLD = new Set(["ENOTSUP", "EOPNOTSUPP", "EPERM", "EACCES", "EINVAL"]);

/**
 * Gives the target the source's extended attributes, access lists (`system.posix_acl_access`)
 * included; the target's own `user.*` and access list that the source lacks are taken away. A file
 * system without attributes has none to copy. One that this user may not set (`security.*`, `trusted.*`), or
 * that the target cannot hold, is left out.
 */
export function copyXattrs(from: XattrSource, toFd: number): LibcResult {
  const names = listXattrs(from);
  if (!names.ok) return names;
  const present = listXattrs(toFd);
  if (!present.ok) return present;
  for (const name of present.value) {
    if (isOurs(name) && !names.value.includes(name)) {
      const removed = removeXattr(toFd, name);
      if (!removed.ok && !isHarmless(removed)) return removed;
    }
  }
  for (const name of names.value) {
    const value = getXattr(from, name);
    const set = value.ok ? setXattrFd(toFd, name, value.value) : value;
    if (!set.ok && !isHarmless(set)) return set;
  }
  return DONE;
}

const NO_NAMES: LibcResult<readonly string[]> = { ok: true, value: [] };

/** Names in the file system's order; none where it keeps no attributes. */
export function listXattrs(from: XattrSource): LibcResult<readonly string[]> {
  const list = readSized((buffer) => rawList(from, buffer));
  if (list.ok) return readNames(list.value);
  const none = list.reason === "failed" && (list.code === "ENOTSUP" || list.code === "EOPNOTSUPP");
  return none ? { ok: true, value: [] } : list;
}

/** Most files have none, and those of an upper all have the same one. */
const last: { bytes: Uint8Array; names: LibcResult<readonly string[]> } = {
  bytes: new Uint8Array(),
  names: NO_NAMES,
};

function readNames(bytes: Uint8Array): LibcResult<readonly string[]> {
  if (bytes.length === 0) return NO_NAMES;
  if (Buffer.compare(bytes, last.bytes) === 0) return last.names;
  last.names = { ok: true, value: Buffer.from(bytes).toString().split("\0").filter(Boolean) };
  last.bytes = bytes;
  return last.names;
}

export function getXattr(from: XattrSource, name: string): LibcResult<Uint8Array> {
  return readSized((buffer) => rawGet(from, name, buffer));
}

/** Removing what is not there is done already. A symlink at the end of the path is not followed. */
export function removeXattr(from: XattrSource, name: string): LibcResult {
  const n = cStringInto(name, 1);
  const removed = ask(from, (lib, path, fd) => {
    if (lib.platform === "linux") return path ? lib.c.lremovexattr(path, n) : lib.c.fremovexattr(fd, n);
    return path ? lib.c.removexattr(path, n, DARWIN_NOFOLLOW) : lib.c.fremovexattr(fd, n, 0);
  });
  if (removed.ok) return DONE;
  return removed.reason === "failed" && NO_SUCH_ATTRIBUTE.has(removed.code) ? DONE : removed;
}

export function setXattrFd(fd: number, name: string, value: Uint8Array): LibcResult {
  const n = cStringInto(name, 1);
  const bytes = value.length > 0 ? value : null;
  const size = BigInt(value.length);
  const set = ask(fd, (lib) =>
    lib.platform === "linux"
      ? lib.c.fsetxattr(fd, n, bytes, size, 0)
      : lib.c.fsetxattr(fd, n, bytes, size, 0, 0),
  );
  return set.ok ? DONE : set;
}

function isOurs(name: string): boolean {
  return name.startsWith("user.") || name.startsWith("system.posix_acl_") || process.platform === "darwin";
}

function isHarmless(failed: LibcFailure): boolean {
  return failed.reason === "failed" && (CANNOT_HOLD.has(failed.code) || NO_SUCH_ATTRIBUTE.has(failed.code));
}

const USUAL = new Uint8Array(512);
const NO_BYTES = new Uint8Array();

/** Asks for the bytes; when they are more than usual for their size first, and again if they grew in between. */
function readSized(call: (buffer: Uint8Array | null) => LibcResult<number>): LibcResult<Uint8Array> {
  const first = call(USUAL);
  if (first.ok) return { ok: true, value: first.value === 0 ? NO_BYTES : USUAL.slice(0, first.value) };
  if (first.reason !== "failed" || first.code !== GROWN_BETWEEN_CALLS) return first;
  for (;;) {
    const needed = call(null);
    if (!needed.ok) return needed;
    if (needed.value === 0) return { ok: true, value: new Uint8Array() };
    const buffer = new Uint8Array(needed.value);
    const got = call(buffer);
    if (got.ok) return { ok: true, value: buffer.subarray(0, got.value) };
    if (got.reason !== "failed" || got.code !== GROWN_BETWEEN_CALLS) return got;
  }
}

type Libc = NonNullable<ReturnType<typeof libc>>;

/** A call of the system about the entry at a path or, where `path` is undefined, at a descriptor. */
function ask(
  from: XattrSource,
  call: (lib: Libc, path: ReturnType<typeof cStringInto> | undefined, fd: number) => number | bigint,
): LibcResult<number> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const isOpen = typeof from === "number";
  const answer = Number(call(lib, isOpen ? undefined : cStringInto(from, 0), isOpen ? from : -1));
  return answer < 0 ? failure(lib) : { ok: true, value: answer };
}

function rawList(from: XattrSource, buffer: Uint8Array | null): LibcResult<number> {
  const room = BigInt(buffer?.length ?? 0);
  return ask(from, (lib, path, fd) => {
    if (lib.platform === "linux")
      return path ? lib.c.llistxattr(path, buffer, room) : lib.c.flistxattr(fd, buffer, room);
    return path
      ? lib.c.listxattr(path, buffer, room, DARWIN_NOFOLLOW)
      : lib.c.flistxattr(fd, buffer, room, 0);
  });
}

function rawGet(from: XattrSource, name: string, buffer: Uint8Array | null): LibcResult<number> {
  const room = BigInt(buffer?.length ?? 0);
  const n = cStringInto(name, 1);
  return ask(from, (lib, path, fd) => {
    if (lib.platform === "linux")
      return path ? lib.c.lgetxattr(path, n, buffer, room) : lib.c.fgetxattr(fd, n, buffer, room);
    return path
      ? lib.c.getxattr(path, n, buffer, room, 0, DARWIN_NOFOLLOW)
      : lib.c.fgetxattr(fd, n, buffer, room, 0, 0);
  });
}
