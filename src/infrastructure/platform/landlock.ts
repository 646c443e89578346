import { dlopen, FFIType, ptr } from "bun:ffi";
import { closeSync, fstatSync, openSync } from "node:fs";
import { foreignProcessFilter } from "./call-filter.ts";
import { DONE, failure, LINUX_NAMES, type LibcResult, linuxLibc, openFirst, UNSUPPORTED } from "./libc.ts";

/** The same numbers on every machine that Linux runs on. */
const CREATE_RULESET = 444;
const ADD_RULE = 445;
const RESTRICT_SELF = 446;
const VERSION_FLAG = 1;
const PATH_BENEATH = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_SET_SECCOMP = 22;
const SECCOMP_FILTER = 2n;
const PR_CAPBSET_DROP = 24;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4n;
const CAP_DAC_OVERRIDE = 1n;
const MOST_CAPABILITIES = 64n;
const CAPABILITY_VERSION = 0x20080522;
const CAPABILITY_CALLS: Readonly<Record<string, { readonly get: number; readonly set: number } | undefined>> =
  {
    x64: { get: 125, set: 126 },
    arm64: { get: 90, set: 91 },
  };
const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;

const EXECUTE = 1n << 0n;
const WRITE_FILE = 1n << 1n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const TRUNCATE = 1n << 14n;
const IOCTL_DEV = 1n << 15n;
const OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const BIND_AND_CONNECT = 3n;
const SOCKETS_AND_SIGNALS = 3n;

/** Below this a file outside can be emptied. */
export const LEAST_ABI = 3;
/** From here on TCP can be shut. */
const TCP_ABI = 4;
/** From here on a thread may signal only what it started itself. */
export const SIGNALS_ABI = 6;

export interface Restriction {
  /** May be read and run. */
  readonly reads: readonly string[];
  /** May be read, run and changed. */
  readonly writes: readonly string[];
  /** Whether TCP stays open; shut only from `TCP_ABI` on. */
  readonly tcp: boolean;
}

type Syscall = (number: number, a: number, b: number, c: number, d: number) => number;

function openSyscall(): Syscall | null {
  const { i64, u64 } = FFIType;
  const symbols = openFirst(
    LINUX_NAMES,
    (name) => dlopen(name, { syscall: { args: [i64, u64, u64, u64, u64], returns: i64 } }).symbols,
  );
  return symbols === undefined ? null : (...given) => Number(symbols.syscall(...given));
}

/** Which Landlock the kernel has; 0 where it has none, or was started without it. */
export function landlockAbi(): number {
  if (process.platform !== "linux") return 0;
  return Math.max(0, openSyscall()?.(CREATE_RULESET, 0, 0, VERSION_FLAG, 0) ?? 0);
}

/** Restricts the calling thread and what it starts, for good: files, root's powers, calls to other processes. Passes missing paths over. */
export function restrictThread({ reads, writes, tcp }: Restriction): LibcResult {
  const lib = linuxLibc();
  const syscall = openSyscall();
  const abi = landlockAbi();
  if (!lib || syscall === null || abi < LEAST_ABI) return UNSUPPORTED;
  const all = (1n << (abi >= 5 ? 16n : 15n)) - 1n;
  const handled = new BigUint64Array([all, tcp ? 0n : BIND_AND_CONNECT, SOCKETS_AND_SIGNALS]);
  const size = abi >= SIGNALS_ABI ? 24 : abi >= TCP_ABI ? 16 : 8;
  const ruleset = syscall(CREATE_RULESET, Number(ptr(handled)), size, 0, 0);
  if (ruleset < 0) return failure(lib);
  try {
    const rule = (path: string, access: bigint) => addRule(syscall, ruleset, path, access & all);
    for (const path of reads) rule(path, EXECUTE | READ_FILE | READ_DIR);
    for (const path of writes) rule(path, all);
    if (lib.c.prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n) !== 0) return failure(lib);
    if (syscall(RESTRICT_SELF, ruleset, 0, 0, 0) !== 0) return failure(lib);
    if (!dropCapabilities(lib, syscall)) return failure(lib);
    const filter = foreignProcessFilter();
    const program = new BigUint64Array([BigInt(filter.length / 8), BigInt(ptr(filter))]);
    return lib.c.prctl(PR_SET_SECCOMP, SECCOMP_FILTER, BigInt(ptr(program)), 0n, 0n) === 0
      ? DONE
      : failure(lib);
  } finally {
    closeSync(ruleset);
  }
}

/**
 * Takes root's powers but one from this thread, and from what it starts, which may gain no new privileges. It can still read and
 * write files of other users, within Landlock: the folder may belong to another container's user.
 */
function dropCapabilities(lib: NonNullable<ReturnType<typeof linuxLibc>>, syscall: Syscall): boolean {
  const calls = CAPABILITY_CALLS[process.arch];
  if (calls === undefined) return process.getuid?.() !== 0;
  const header = new Uint32Array([CAPABILITY_VERSION, 0]);
  const sets = new Uint32Array(6);
  if (syscall(calls.get, Number(ptr(header)), Number(ptr(sets)), 0, 0) !== 0) return false;
  lib.c.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0n, 0n, 0n);
  // Without the right to, there is nothing in the set that could be won.
  for (let one = 0n; one < MOST_CAPABILITIES; one++)
    if (one !== CAP_DAC_OVERRIDE) lib.c.prctl(PR_CAPBSET_DROP, one, 0n, 0n, 0n);
  const kept = (sets[1] ?? 0) & (1 << Number(CAP_DAC_OVERRIDE));
  const after = new Uint32Array([kept, kept, 0, 0, 0, 0]);
  return syscall(calls.set, Number(ptr(header)), Number(ptr(after)), 0, 0) === 0;
}

function addRule(syscall: Syscall, ruleset: number, path: string, access: bigint): void {
  let fd: number;
  try {
    fd = openSync(path, O_PATH | O_CLOEXEC);
  } catch {
    return;
  }
  try {
    const isFolder = fstatSync(fd).isDirectory();
    const attribute = new DataView(new ArrayBuffer(12));
    attribute.setBigUint64(0, isFolder ? access : access & OF_FILES, true);
    attribute.setInt32(8, fd, true);
    syscall(ADD_RULE, ruleset, PATH_BENEATH, Number(ptr(attribute)), 0);
  } finally {
    closeSync(fd);
  }
}
