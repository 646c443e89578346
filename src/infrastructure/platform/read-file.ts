import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { fstatEntry } from "./entry-stats.ts";
import { AT_FDCWD, cStringInto, folderOfName, linuxLibc, nameInFolder } from "./libc.ts";
import { inParent } from "./open-folder.ts";
import { listXattrs } from "./xattr.ts";

const NUMBERS: Readonly<
  Record<string, { readonly openat: number; readonly read: number; readonly close: number }>
> = {
  x64: { openat: 257, read: 0, close: 3 },
  arm64: { openat: 56, read: 63, close: 57 },
};
const CLOSE_ON_EXEC = 0o2000000;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A descriptor for the entry at a path; null where the call fails or does not exist: the caller gets the reason from the runtime. */
export function openQuickly(path: string, flags: number): number | null {
  const lib = linuxLibc();
  const numbers = NUMBERS[process.arch];
  if (lib === undefined || numbers === undefined || path === "") return null;
  const folder = folderOfName(path);
  const name = cStringInto(folder === AT_FDCWD ? path : nameInFolder(path), 0);
  const descriptor = Number(lib.c.syscall(numbers.openat, folder, name, flags | CLOSE_ON_EXEC, null, 0));
  return descriptor < 0 ? null : descriptor;
}

/**
 * Reads a file that fills less than the room, with its stats and attributes, from one descriptor: a job of many files
 * asks all three of each, and every name that the system has to follow costs more than the answer. Null where that does
 * not work out (another system, no access, no file, larger than the room, shorter than it says): the caller asks one
 * by one. Its `length` bytes are at the beginning of the room; `attributes` is null where they cannot be read.
 */
export function lookInto(path: string, room: Uint8Array) {
  const descriptor = openQuickly(path, READ);
  const lib = linuxLibc();
  const numbers = NUMBERS[process.arch];
  if (descriptor === null || lib === undefined || numbers === undefined) return null;
  const { syscall } = lib.c;
  try {
    const length = Number(syscall(numbers.read, descriptor, room, room.length, null, 0));
    if (length < 0 || length === room.length) return null;
    const stats = fstatEntry(descriptor);
    if (!stats.isFile() || stats.size !== length) return null;
    const names = listXattrs(descriptor);
    return { length, stats, attributes: names.ok ? names.value : null };
  } finally {
    syscall(numbers.close, descriptor, null, 0, null, 0);
  }
}

/** Tells damage from what was written, not malice: eight hexadecimal digits. */
export function checksum(text: string): string {
  return toSum(Bun.hash.crc32(text));
}

/** The sum of bytes that follow others; it begins with zero. */
export function addToSum(sum: number, bytes: Uint8Array): number {
  return Bun.hash.crc32(bytes, sum);
}

export function toSum(sum: number): string {
  return sum.toString(16).padStart(8, "0");
}

/** Reads a regular file; a symlink, FIFO or device in its place is an error, never a hang. */
export function readNoFollow(absolute: string): Uint8Array {
  const fd = openSync(absolute, READ);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Larger files are not read to be judged: a caller that needs their bytes gets none. */
export const LARGEST_JUDGED = 64 * 1024 ** 2;

/** The bytes of a file below a root, to be judged; null for no file, a link on the way, too large a file, an unreadable one. */
export function bytesBelow(root: string, path: string): Uint8Array | null {
  return attemptOr(null, () =>
    inParent(root, path, (folder, name) => readPlain(`${folder}/${name}`, LARGEST_JUDGED)),
  );
}

/** No link is followed, no pipe waited for, and no more read than the limit, whichever process writes there; null for other entries. */
export function readPlain(absolute: string, limitBytes: number): Uint8Array | null {
  const fd = openSync(absolute, READ);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > limitBytes) return null;
    const bytes = Buffer.alloc(stats.size);
    return bytes.subarray(0, fillRoom(fd, bytes, 0));
  } finally {
    closeSync(fd);
  }
}

/** As `readNoFollow`, into the caller's room, which a longer file fills; returns the count. A read that ends at `expected` is the last. */
export function readInto(absolute: string, room: Uint8Array, from: number, expected = -1): number {
  const fd = openQuickly(absolute, READ) ?? openSync(absolute, READ);
  try {
    return fillRoom(fd, room, from, expected);
  } finally {
    closeSync(fd);
  }
}

/** One call of the system may return fewer bytes than it was asked for. */
function fillRoom(fd: number, room: Uint8Array, from: number, expected = -1): number {
  let at = from;
  while (at < room.length) {
    const count = readSync(fd, room, at, room.length - at, null);
    at += count;
    if (count === 0 || at - from === expected) break;
  }
  return at - from;
}
