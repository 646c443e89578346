import { dlopen, FFIType, read } from "bun:ffi";
import { renameSync } from "node:fs";
import { constants } from "node:os";

/** The C library, opened at the first use (0.3 ms). Without it every function answers `unsupported`, and callers take another way. */
export type LibcFailure =
  | { readonly ok: false; readonly reason: "unsupported" }
  | { readonly ok: false; readonly reason: "failed"; readonly errno: number; readonly code: string };

export type LibcResult<T = undefined> = { readonly ok: true; readonly value: T } | LibcFailure;

export const UNSUPPORTED: LibcFailure = { ok: false, reason: "unsupported" };
export const DONE: LibcResult = { ok: true, value: undefined };

const { i32, u32, u64, ptr, i64_fast: size } = FFIType;

const COMMON = {
  flock: { args: [i32, i32], returns: i32 },
  waitpid: { args: [i32, ptr, i32], returns: i32 },
} as const;

const LINUX = {
  ...COMMON,
  __errno_location: { args: [], returns: ptr },
  pipe2: { args: [ptr, i32], returns: i32 },
  prctl: { args: [i32, u64, u64, u64, u64], returns: i32 },
  getrlimit: { args: [i32, ptr], returns: i32 },
  setrlimit: { args: [i32, ptr], returns: i32 },
  syncfs: { args: [i32], returns: i32 },
  fcntl: { args: [i32, i32, i32], returns: i32 },
  poll: { args: [ptr, u64, i32], returns: i32 },
  syscall: { args: [size, i32, ptr, i32, ptr, u32], returns: size },
  flistxattr: { args: [i32, ptr, u64], returns: size },
  llistxattr: { args: [ptr, ptr, u64], returns: size },
  fgetxattr: { args: [i32, ptr, ptr, u64], returns: size },
  lgetxattr: { args: [ptr, ptr, ptr, u64], returns: size },
  fsetxattr: { args: [i32, ptr, ptr, u64, i32], returns: i32 },
  fremovexattr: { args: [i32, ptr], returns: i32 },
  lremovexattr: { args: [ptr, ptr], returns: i32 },
} as const;

const DARWIN = {
  ...COMMON,
  __error: { args: [], returns: ptr },
  pipe: { args: [ptr], returns: i32 },
  renameatx_np: { args: [i32, ptr, i32, ptr, u32], returns: i32 },
  flistxattr: { args: [i32, ptr, u64, i32], returns: size },
  listxattr: { args: [ptr, ptr, u64, i32], returns: size },
  fgetxattr: { args: [i32, ptr, ptr, u64, u32, i32], returns: size },
  getxattr: { args: [ptr, ptr, ptr, u64, u32, i32], returns: size },
  fsetxattr: { args: [i32, ptr, ptr, u64, u32, i32], returns: i32 },
  fremovexattr: { args: [i32, ptr, i32], returns: i32 },
  removexattr: { args: [ptr, ptr, i32], returns: i32 },
} as const;

export const LINUX_NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1", "libc.so"];

export function openFirst<T>(names: readonly string[], open: (name: string) => T): T | undefined {
  for (const name of names) {
    try {
      return open(name);
    } catch {
      // Not this C library's name here.
    }
  }
  return undefined;
}

function openLinux() {
  const symbols = openFirst(LINUX_NAMES, (name) => dlopen(name, LINUX).symbols);
  const location = symbols?.__errno_location();
  if (!symbols || !location) return undefined;
  return { platform: "linux" as const, c: symbols, errno: () => read.i32(location, 0) };
}

function openDarwin() {
  const symbols = openFirst(["libSystem.B.dylib"], (name) => dlopen(name, DARWIN).symbols);
  const location = symbols?.__error();
  if (!symbols || !location) return undefined;
  return { platform: "darwin" as const, c: symbols, errno: () => read.i32(location, 0) };
}

type Libc = NonNullable<ReturnType<typeof openLinux> | ReturnType<typeof openDarwin>>;

const openedLibc: { libc?: Libc | undefined; done?: true } = {};

/** errno lives in thread-local memory: its address is asked for once per thread, then only read. */
export function libc(): Libc | undefined {
  if (!openedLibc.done) {
    openedLibc.libc =
      process.platform === "linux" ? openLinux() : process.platform === "darwin" ? openDarwin() : undefined;
    openedLibc.done = true;
  }
  return openedLibc.libc;
}

export function linuxLibc() {
  const lib = libc();
  return lib?.platform === "linux" ? lib : undefined;
}

/** Linux: one call that answers 0 where it succeeds. */
export function callLinux(call: (lib: NonNullable<ReturnType<typeof linuxLibc>>) => number): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  return call(lib) === 0 ? DONE : failure(lib);
}

/** Must be called at once after the failing call, before anything else can overwrite errno. */
export function failure(lib: Libc): LibcFailure {
  const errno = lib.errno();
  return { ok: false, reason: "failed", errno, code: errnoName(errno) };
}

const names = new Map<number, string>();

/** A failure is often all that is asked for (no such attribute), ten thousand times in a row. */
function errnoName(errno: number): string {
  if (names.size === 0)
    for (const [name, value] of Object.entries(constants.errno))
      if (!names.has(value)) names.set(value, name);
  return names.get(errno) ?? `errno ${errno}`;
}

/** A C string of exactly these bytes; a name that is not UTF-8 is passed as bytes. */
function cString(text: string | Uint8Array): Uint8Array {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  if (bytes.includes(0)) throw new TypeError("a name for the C library may not contain NUL");
  const terminated = new Uint8Array(bytes.length + 1);
  terminated.set(bytes);
  return terminated;
}

type Refused<Reason> = { readonly ok: false; readonly reason: Reason };

const EXCLUSIVE = 2;
const NON_BLOCKING = 4;
const FIRST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 50;

/** One attempt. The lock belongs to the open file, not to the process: two opens of one file exclude each other. */
export function tryFlock(fd: number): LibcResult | Refused<"busy"> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  if (lib.c.flock(fd, EXCLUSIVE | NON_BLOCKING) === 0) return DONE;
  const failed = failure(lib);
  if (failed.reason === "failed" && (failed.code === "EAGAIN" || failed.code === "EWOULDBLOCK")) {
    return { ok: false, reason: "busy" };
  }
  return failed;
}

/** Waits for the lock without blocking the event loop. Not fair. Closing the file, or the end of the process, releases the lock. */
export async function flock(fd: number, timeoutMs: number): Promise<LibcResult | Refused<"timed-out">> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = FIRST_WAIT_MS; ; pause = Math.min(pause * 2, LONGEST_WAIT_MS)) {
    const tried = tryFlock(fd);
    if (tried.ok) return tried;
    if (tried.reason === "failed" && tried.code === "EINTR") continue;
    if (tried.reason !== "busy") return tried;
    const left = deadline - performance.now();
    if (left <= 0) return { ok: false, reason: "timed-out" };
    await Bun.sleep(Math.min(pause, left));
  }
}

const F_SETSIG = 10;
const F_SETLEASE = 1024;
const READ_LEASE = 0;
const NO_LEASE = 2;
/** Ignored by default. Otherwise the signal of a broken lease would end this process. */
const SIGURG = 23;

/**
 * Linux: whether any process can write to the file, in any namespace, mapped or open. `fd` must be open for reading alone. The
 * kernel gives a read lease only without writers; it is given back at once. Fails for files of other owners, and on file systems
 * without leases.
 */
export function hasWriters(fd: number): LibcResult<boolean> {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  if (lib.c.fcntl(fd, F_SETSIG, SIGURG) !== 0) return failure(lib);
  if (lib.c.fcntl(fd, F_SETLEASE, READ_LEASE) === 0) {
    lib.c.fcntl(fd, F_SETLEASE, NO_LEASE);
    return { ok: true, value: false };
  }
  const failed = failure(lib);
  return failed.reason === "failed" && failed.code === "EAGAIN" ? { ok: true, value: true } : failed;
}

type Name = string | Uint8Array;

/** One name for each argument of a call. No call is made from within another. */
const NAMES: readonly Uint8Array[] = [new Uint8Array(8192), new Uint8Array(8192)];
const encoder = new TextEncoder();

/** As `cString`, in a place that the next call overwrites: a job of many files makes a million names. No path fills half of it. */
export function cStringInto(text: Name, place: 0 | 1): Uint8Array {
  const bytes = NAMES[place] as Uint8Array;
  // A character of a string takes three bytes at most.
  if (typeof text !== "string" || text.length * 3 >= bytes.length) return cString(text);
  if (text.includes("\0")) throw new TypeError("a name for the C library may not contain NUL");
  bytes[encoder.encodeInto(text, bytes).written] = 0;
  return bytes;
}

/** In place of a directory descriptor: names are relative to the current folder, or absolute. */
export const AT_FDCWD = process.platform === "darwin" ? -2 : -100;

const DESCRIPTORS = "/proc/self/fd/";

/** The folder of a name through an open descriptor (`/proc/self/fd/N/name`): calls take the descriptor itself in half the time. */
export function folderOfName(path: string): number {
  if (!path.startsWith(DESCRIPTORS)) return AT_FDCWD;
  const slash = path.indexOf("/", DESCRIPTORS.length);
  const isName = slash > DESCRIPTORS.length && slash < path.length - 1 && path[slash + 1] !== "/";
  const descriptor = isName ? Number(path.slice(DESCRIPTORS.length, slash)) : Number.NaN;
  return Number.isInteger(descriptor) ? descriptor : AT_FDCWD;
}

/** The rest of such a name. */
export function nameInFolder(path: string): string {
  return path.slice(path.indexOf("/", DESCRIPTORS.length) + 1);
}

const RENAMEAT2: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };
const LINUX_NO_REPLACE = 1;
const LINUX_EXCHANGE = 2;
const DARWIN_SWAP = 2;
const DARWIN_EXCL = 4;

/** Both names change places in one step; both must exist. `EINVAL`, `ENOSYS` and `unsupported`: it cannot, the caller falls back. */
export function renameExchange(dirfdA: number, nameA: Name, dirfdB: number, nameB: Name): LibcResult {
  return renameWithFlags(dirfdA, nameA, dirfdB, nameB, { linux: LINUX_EXCHANGE, darwin: DARWIN_SWAP });
}

/** Renames A to B unless B exists (`EEXIST`), in one step. */
export function renameNoReplace(dirfdA: number, nameA: Name, dirfdB: number, nameB: Name): LibcResult {
  return renameWithFlags(dirfdA, nameA, dirfdB, nameB, { linux: LINUX_NO_REPLACE, darwin: DARWIN_EXCL });
}

function renameWithFlags(
  dirfdA: number,
  nameA: Name,
  dirfdB: number,
  nameB: Name,
  flags: { readonly linux: number; readonly darwin: number },
): LibcResult {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  if (lib.platform === "darwin") {
    const [a, b] = [cStringInto(nameA, 0), cStringInto(nameB, 1)];
    return lib.c.renameatx_np(dirfdA, a, dirfdB, b, flags.darwin) === 0 ? DONE : failure(lib);
  }
  const [fromA, fromB] = [folderOf(dirfdA, nameA), folderOf(dirfdB, nameB)];
  const a = cStringInto(fromA === dirfdA ? nameA : nameInFolder(nameA as string), 0);
  const b = cStringInto(fromB === dirfdB ? nameB : nameInFolder(nameB as string), 1);
  // By number: older C libraries have no renameat2.
  const number = RENAMEAT2[process.arch];
  if (number === undefined) return UNSUPPORTED;
  return Number(lib.c.syscall(number, fromA, a, fromB, b, flags.linux)) === 0 ? DONE : failure(lib);
}

/** As the runtime's own, but a name that leads through an open folder is not looked up in `/proc`. */
export function renameQuickly(from: string, to: string): void {
  const isDone = process.platform === "linux" && renameWithFlags(AT_FDCWD, from, AT_FDCWD, to, PLAIN).ok;
  // Says what is wrong, where something is.
  if (!isDone) renameSync(from, to);
}

const PLAIN = { linux: 0, darwin: 0 };

function folderOf(dirfd: number, name: Name): number {
  return dirfd === AT_FDCWD && typeof name === "string" ? folderOfName(name) : dirfd;
}

/** Linux: everything on the file system that holds `fd` reaches the disk before this returns. Blocks. */
export const syncfs = (fd: number): LibcResult => callLinux(({ c }) => c.syncfs(fd));
