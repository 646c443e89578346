import { dlopen, FFIType } from "bun:ffi";
import { type BigIntStats, fstatSync, lstatSync } from "node:fs";
import {
  AT_FDCWD,
  cStringInto,
  failure,
  folderOfName,
  LINUX_NAMES,
  linuxLibc,
  nameInFolder,
  openFirst,
} from "./libc.ts";

/** Stats of an entry in a hundred bytes. The runtime's own take a thousand, and a job of many files asks for a million of them. */
export class EntryStats {
  constructor(
    /** Type and permissions. */
    readonly mode: number,
    readonly nlink: number,
    readonly uid: number,
    readonly gid: number,
    readonly size: number,
    readonly blocks: number,
    readonly dev: number,
    readonly rdev: number,
    /** Exact; beyond the exact numbers a big integer. */
    readonly inode: number | bigint,
    /** Seconds, and nanoseconds beyond them. */
    readonly modified: number,
    readonly modifiedNs: number,
    readonly changed: number,
    readonly changedNs: number,
    private readonly born: number,
    private readonly bornNs: number,
  ) {}

  get permissions(): number {
    return this.mode & 0o7777;
  }

  get ino(): string {
    return String(this.inode);
  }

  /** Times in nanoseconds; as text where they are stored. */
  get mtime(): string {
    return nanosecondsText(this.modified, this.modifiedNs);
  }

  get ctime(): string {
    return nanosecondsText(this.changed, this.changedNs);
  }

  get mtimeNs(): bigint {
    return nanoseconds(this.modified, this.modifiedNs);
  }

  get ctimeNs(): bigint {
    return nanoseconds(this.changed, this.changedNs);
  }

  get birthtimeNs(): bigint {
    return nanoseconds(this.born, this.bornNs);
  }

  /** The time of change as one number below 2^49, to compare an entry within days: it wraps around after six. */
  get ctimeMark(): number {
    return (this.changed % 2 ** 19) * 1e9 + this.changedNs;
  }

  isFile(): boolean {
    return (this.mode & TYPE) === 0o100000;
  }

  isDirectory(): boolean {
    return (this.mode & TYPE) === 0o040000;
  }

  isSymbolicLink(): boolean {
    return (this.mode & TYPE) === 0o120000;
  }

  isBlockDevice(): boolean {
    return (this.mode & TYPE) === 0o060000;
  }

  isCharacterDevice(): boolean {
    return (this.mode & TYPE) === 0o020000;
  }
}

const TYPE = 0o170000;
const SECOND = 1_000_000_000n;

/** Entries that are looked at together were mostly changed in the same second. */
const lastSecond = { seconds: 0, nanoseconds: 0n };

function nanoseconds(seconds: number, rest: number): bigint {
  if (lastSecond.seconds !== seconds) {
    lastSecond.seconds = seconds;
    lastSecond.nanoseconds = BigInt(seconds) * SECOND;
  }
  return lastSecond.nanoseconds + BigInt(rest);
}

export function nanosecondsText(seconds: number, rest: number): string {
  if (seconds <= 0) return String(nanoseconds(seconds, rest));
  return `${seconds}${String(rest).padStart(9, "0")}`;
}

/** The entry at a path, no symlink followed at its end; undefined where nothing is, also below a file. Throws the system's other errors. */
export function lstatEntry(path: string | Uint8Array): EntryStats | undefined {
  asked.count += 1;
  if (typeof path === "string" && path !== "" && asked.count > FEW) {
    const statx = openStatx();
    if (statx !== null) return statx(AT_FDCWD, path);
  }
  return lstatByRuntime(path as string);
}

/** The runtime's own call reports a missing entry by its value only where every parent is a folder. */
function lstatByRuntime(path: string): EntryStats | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : toEntryStats(stats);
  } catch (error) {
    if (isNothing((error as { code?: string }).code)) return undefined;
    throw error;
  }
}

function isNothing(code: string | undefined): boolean {
  return code === "ENOENT" || code === "ENOTDIR";
}

/** As `lstatEntry`, of a name in an open folder. Linux. */
export function lstatIn(folder: number, name: string): EntryStats | undefined {
  asked.count += 1;
  const statx = asked.count > FEW && name !== "" ? openStatx() : null;
  if (statx !== null) return statx(folder, name);
  return lstatByRuntime(`/proc/self/fd/${folder}/${name}`);
}

export function fstatEntry(descriptor: number): EntryStats {
  asked.count += 1;
  const statx = asked.count > FEW ? openStatx() : null;
  return statx?.(descriptor, "") ?? toEntryStats(fstatSync(descriptor, { bigint: true }));
}

/** A job of a few edits is over before the system's own call is opened. */
const FEW = 200;
const asked = { count: 0 };

export function toEntryStats(stats: BigIntStats): EntryStats {
  const [modified, modifiedNs] = divideTime(stats.mtimeNs);
  const [changed, changedNs] = divideTime(stats.ctimeNs);
  const [born, bornNs] = divideTime(stats.birthtimeNs);
  return new EntryStats(
    Number(stats.mode),
    Number(stats.nlink),
    Number(stats.uid),
    Number(stats.gid),
    Number(stats.size),
    Number(stats.blocks),
    Number(stats.dev),
    Number(stats.rdev),
    exactNumber(stats.ino),
    modified,
    modifiedNs,
    changed,
    changedNs,
    born,
    bornNs,
  );
}

export function exactNumber(value: bigint): number | bigint {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

export function divideTime(time: bigint): readonly [seconds: number, rest: number] {
  const rest = ((time % SECOND) + SECOND) % SECOND;
  return [Number((time - rest) / SECOND), Number(rest)];
}

/** An empty path is the descriptor itself. */
type Statx = (descriptor: number, path: string) => EntryStats | undefined;

const opened: { statx?: Statx | null } = {};

function openStatx(): Statx | null {
  if (opened.statx === undefined) opened.statx = makeStatx();
  return opened.statx;
}

const NUMBER: Readonly<Record<string, number>> = { x64: 332, arm64: 291 };
const NO_FOLLOW = 0x100;
const EMPTY_PATH = 0x1000;
const BASIC_AND_BIRTH = 0xfff;
const HIGH = 2 ** 32;
/** Inode numbers beyond it are no longer exact as numbers. */
const EXACT_HIGH = 2 ** 21;

const { i64_fast: size, i32, u32, ptr } = FFIType;

/** By number: older C libraries have no such function. Null where the kernel or the machine has none either. */
function makeStatx(): Statx | null {
  const number = NUMBER[process.arch];
  const lib = linuxLibc();
  if (number === undefined || lib === undefined) return null;
  const symbols = openFirst(
    LINUX_NAMES,
    (name) => dlopen(name, { syscall: { args: [size, i32, ptr, i32, u32, ptr], returns: size } }).symbols,
  );
  if (symbols === undefined) return null;
  const room = new ArrayBuffer(256);
  const [bytes, words, signed, longs] = [
    new Uint8Array(room),
    new Uint32Array(room),
    new Int32Array(room),
    new BigUint64Array(room),
  ];
  const word = (index: number) => words[index] as number;
  const long = (index: number) => word(index) + word(index + 1) * HIGH;
  const seconds = (index: number) => word(index) + (signed[index + 1] as number) * HIGH;
  const call = (descriptor: number, path: string) => {
    const flags = path === "" ? EMPTY_PATH : NO_FOLLOW;
    const folder = descriptor === AT_FDCWD ? folderOfName(path) : descriptor;
    const name = cStringInto(folder === descriptor ? path : nameInFolder(path), 0);
    return Number(symbols.syscall(number, folder, name, flags, BASIC_AND_BIRTH, bytes));
  };
  if (call(AT_FDCWD, "/") !== 0) return null;
  return (descriptor, path) => {
    if (call(descriptor, path) !== 0) {
      const failed = failure(lib);
      const code = failed.reason === "failed" ? failed.code : "EIO";
      if (isNothing(code)) return undefined;
      throw Object.assign(new Error(`${code}: lstat '${path}'`), { code, syscall: "lstat", path });
    }
    return new EntryStats(
      word(7) & 0xffff,
      word(4),
      word(5),
      word(6),
      long(10),
      long(12),
      deviceNumber(word(34), word(35)),
      deviceNumber(word(32), word(33)),
      word(9) < EXACT_HIGH ? long(8) : (longs[4] as bigint),
      seconds(28),
      word(30),
      seconds(24),
      word(26),
      seconds(20),
      word(22),
    );
  };
}

/** As the C library puts the two halves together, and so the runtime. */
function deviceNumber(major: number, minor: number): number {
  return (
    (minor & 0xff) +
    (major & 0xfff) * 0x100 +
    Math.floor(minor / 0x100) * 0x100000 +
    Math.floor(major / 0x1000) * 0x1000 * HIGH
  );
}
