import { dlopen, FFIType, read } from "bun:ffi";
import { constants } from "node:os";

/**
 * The C library, opened at the first use (0.3 ms) and never at import. Where it cannot be opened every
 * function built on it answers `unsupported`, and its caller takes the slower or weaker way.
 */
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

const LINUX_NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1", "libc.so"];

function openFirst<T>(names: readonly string[], open: (name: string) => T): T | undefined {
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

/** A C string of exactly these bytes; a name that is not UTF-8 comes as bytes. */
export function cString(text: string | Uint8Array): Uint8Array {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  if (bytes.includes(0)) throw new TypeError("a name for the C library may not contain NUL");
  const terminated = new Uint8Array(bytes.length + 1);
  terminated.set(bytes);
  return terminated;
}
