import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";

/** A file of the store as it was when a process opened it. */
export interface NotedStoreFile {
  readonly id: string;
  readonly hadBytes: boolean;
}

export function noteStoreFile(file: string): NotedStoreFile | null {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : { id: identifyFile(found), hadBytes: found.size > 0 };
}

export function isStoreFileGone(file: string, noted: NotedStoreFile): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined || identifyFile(found) !== noted.id || (noted.hadBytes && found.size === 0);
}

function identifyFile({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** The fields of the shared index of SQLite's log; see "WAL-mode File Format" in its documentation. */
interface LogState {
  readonly pageBytes: number;
  /** Frames of the log that count, and how many of them the file has already. */
  readonly frames: number;
  readonly carried: number;
  /** Pages of the store after the last commit. */
  readonly pages: number;
  /** A log that is begun again has another one. */
  readonly salt: string;
}

const INDEX_HEADER_BYTES = 48;
const INDEX_BYTES = 2 * INDEX_HEADER_BYTES + 4;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SALT_BYTES = 8;
/** Another process may be writing while this one looks. */
const LOOKS = 3;

/**
 * Finds a file of the store that was replaced or truncated. What is written then is lost though every statement succeeds: SQLite writes
 * its next frame behind the hole, and a process that starts later reads up to the hole.
 */
export function watchStoreFiles(file: string): { findGone(): string | null; close(): void } {
  const log = `${file}-wal`;
  const ids = { file: "", log: "" };
  const open: { index: number | null; log: number | null } = { index: null, log: null };
  const bytes = Buffer.alloc(INDEX_BYTES);
  let fileBytes = 0;
  let before: LogState | null = null;

  /** Null where there is no log yet, or another process is changing the index. */
  function readState(): LogState | null {
    // Not closed before the database is: with it, the system would take SQLite's locks away.
    open.index ??= openOrNull(`${file}-shm`);
    if (open.index === null || readSync(open.index, bytes, 0, INDEX_BYTES, 0) < INDEX_BYTES) return null;
    const copy = bytes.subarray(INDEX_HEADER_BYTES, 2 * INDEX_HEADER_BYTES);
    if (!bytes.subarray(0, INDEX_HEADER_BYTES).equals(copy)) return null;
    const size = u16(bytes, 14);
    return {
      pageBytes: size === 1 ? 65_536 : size,
      frames: u32(bytes, 16),
      pages: u32(bytes, 20),
      salt: bytes.toString("latin1", 32, 32 + SALT_BYTES),
      carried: u32(bytes, 2 * INDEX_HEADER_BYTES),
    };
  }

  /** Whether the log has all valid frames, and those that it had before are not a hole. */
  function isLogWhole(state: LogState, size: number): boolean {
    if (state.frames <= state.carried) return true;
    const frameBytes = FRAME_HEADER_BYTES + state.pageBytes;
    if (size < LOG_HEADER_BYTES + state.frames * frameBytes) return false;
    if (readSalt(16) !== state.salt) return false;
    const known = before?.salt === state.salt ? Math.min(before.frames, state.frames) : 0;
    return known === 0 || readSalt(LOG_HEADER_BYTES + (known - 1) * frameBytes + 8) === state.salt;
  }

  function readSalt(at: number): string {
    open.log ??= openOrNull(log);
    if (open.log === null) return "";
    return bytes.toString("latin1", 0, readSync(open.log, bytes, 0, SALT_BYTES, at));
  }

  function look(): string | null {
    const state = readState();
    const own = statSync(file, { throwIfNoEntry: false });
    const logged = statSync(log, { throwIfNoEntry: false });
    if (own === undefined) return ids.file === "" ? null : file;
    if (ids.file === "") ids.file = identifyFile(own);
    // The file becomes shorter only where the store does, after `vacuum`.
    const isCut = own.size < fileBytes && (state === null || own.size < state.pages * state.pageBytes);
    if (ids.file !== identifyFile(own) || isCut || (fileBytes > 0 && own.size === 0)) return file;
    // The log is made with the first change.
    if (logged === undefined) return ids.log === "" ? null : log;
    if (ids.log === "") ids.log = identifyFile(logged);
    if (ids.log !== identifyFile(logged) || (state !== null && !isLogWhole(state, logged.size))) return log;
    fileBytes = own.size;
    before = state ?? before;
    return null;
  }

  function findGone(): string | null {
    let gone = look();
    for (let looks = 1; gone !== null && looks < LOOKS; looks++) gone = look();
    return gone;
  }

  findGone();
  return {
    findGone,
    close() {
      for (const handle of [open.index, open.log]) if (handle !== null) closeSync(handle);
      Object.assign(open, { index: null, log: null });
    },
  };
}

/** The index is in the byte order of the machine; all that this program runs on are little-endian. */
function u32(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at);
}

function u16(bytes: Buffer, at: number): number {
  return bytes.readUInt16LE(at);
}

function openOrNull(path: string): number | null {
  return attemptOr(null, () => openSync(path, "r"));
}
