import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Change } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import {
  Identity,
  identifyAt,
  pathBelow,
  sameUntouched,
  shownBelow,
  statEntryAt,
} from "../platform/entry-identity.ts";
import type { EntryStats } from "../platform/entry-stats.ts";
import { readNoFollow } from "../platform/read-file.ts";
import { createSweep } from "../platform/unattended.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import type { LaidRoot } from "../sandbox/create-sandbox.ts";
import { hashAt, mayBeIndex, readEntry } from "./compare-entries.ts";
import { walkUpper } from "./overlay-layers.ts";
import { hasMovedFrom } from "./seal-ops.ts";
import { type FolderBase, NO_FOLDER } from "./swap.ts";

/** The workspace's entry at a path when its change was first seen: an overlay cannot tell a created file from one deleted below since. */
export type FirstSight = ReturnType<typeof createFirstSight>;

export interface SeenFile {
  readonly identity: Identity;
  /** Absent where it would cost too much. */
  readonly hash: string | undefined;
  readonly bytes?: Uint8Array | undefined;
  /** Its number of hard links, and its attributes; absent if they were not read. */
  readonly names?: number;
  readonly attributes?: readonly string[] | null;
}

/** The earlier entry at a path: a folder, a file that had not been touched since the view was opened, another entry or none. */
interface SeenEntry {
  readonly existed: boolean;
  readonly folder: FolderBase | undefined;
  readonly file: SeenFile | undefined;
  /** The stamp of the view, where it is not the first. */
  readonly since: bigint | undefined;
}

/** Of one file, and of all files of a job, whose first bytes are kept. */
const KEPT_BYTES = 1024 * 1024;
const KEPT_BYTES_OF_JOB = 16 * KEPT_BYTES;

/** `keepsBytes`: a job that may have to be merged with changes of others. */
export function createFirstSight(begin: bigint, { keepsBytes = false } = {}) {
  let keptBytes = 0;
  const seen = new Map<string, SeenEntry>();
  let current: bigint | undefined;
  const keepFile = (absolute: string, stats: EntryStats): SeenFile => {
    const keeps = keepsBytes && stats.size <= KEPT_BYTES && keptBytes + stats.size <= KEPT_BYTES_OF_JOB;
    const file = seenFile(absolute, stats, keeps);
    keptBytes += file.bytes?.length ?? 0;
    return file;
  };
  const forget = (absolute: string): void => {
    keptBytes -= seen.get(absolute)?.file?.bytes?.length ?? 0;
    seen.delete(absolute);
  };
  const see = (absolute: string, stats: EntryStats | undefined): SeenEntry => {
    // A job may create a hundred thousand new files.
    if (stats === undefined && current === undefined) return NOTHING;
    const stamp = current ?? begin;
    const isUntouched = stats?.isFile() === true && stats.ctimeNs < stamp && !mayBeIndex(absolute);
    return {
      existed: stats !== undefined,
      folder: stats?.isDirectory() ? folderSince(absolute, stats, stamp) : undefined,
      file: isUntouched ? keepFile(absolute, stats) : undefined,
      since: current,
    };
  };
  return {
    /** `look` returns the current entry, where the caller needs the answer as well. */
    note(absolute: string, look: () => EntryStats | undefined = () => statEntryAt(absolute)): void {
      if (!seen.has(absolute)) seen.set(absolute, see(absolute, look()));
    },
    /** Undefined when the path was never noted. */
    existed: (absolute: string): boolean | undefined => seen.get(absolute)?.existed,
    /** A file that had not been touched since the view was opened. */
    file: (absolute: string): SeenFile | undefined => seen.get(absolute)?.file,
    /** The folder that the view has at a path, as far as it is known; null if there was none. */
    folder(absolute: string): FolderBase | null {
      const known = seen.get(absolute);
      if (known !== undefined) return known.folder ?? null;
      const stats = statEntryAt(absolute);
      return stats?.isDirectory() ? folderSince(absolute, stats, current ?? begin) : null;
    },
    /** A view was opened again at this stamp: it shows the workspace at that point. */
    reopened(stamp: bigint): void {
      current = stamp;
    },
    /** The stamp of the view in which the path was first noted; undefined for the first view. */
    since: (absolute: string): bigint | undefined => seen.get(absolute)?.since,
    /** Whether the entry differs from the recorded one. Never true for a folder. */
    hasMoved(absolute: string): boolean {
      const known = seen.get(absolute);
      if (known === undefined) return false;
      const { existed, folder, file } = known;
      const stats = statEntryAt(absolute);
      if (stats === undefined || !existed) return existed !== (stats !== undefined) && !stats?.isDirectory();
      if (stats.isDirectory()) return folder === undefined;
      if (file === undefined) return stats.ctimeNs >= (known.since ?? begin);
      return hasMovedFrom(file.identity, Identity.of(stats), file.hash, (now) =>
        hashAt(absolute, now, false),
      );
    },
    /** The earlier bytes: null if there was no file, undefined if they are unknown or not kept. */
    bytes(absolute: string): Uint8Array | null | undefined {
      const known = seen.get(absolute);
      return known?.existed === false ? null : known?.file?.bytes;
    },
    /** Undefined if there was no file. */
    mode: (absolute: string): number | undefined => seen.get(absolute)?.file?.identity.mode,
    renew(absolute: string, identity: Identity, bytes: Uint8Array): void {
      forget(absolute);
      keptBytes += bytes.length;
      const file = { identity, hash: hashAt(absolute, identity, false), bytes };
      seen.set(absolute, { existed: true, folder: undefined, file, since: undefined });
    },
    forget,
    /** The job is sealed, and nothing of it will be asked for. */
    forgetAll: () => seen.clear(),
  };
}

const NOTHING: SeenEntry = { existed: false, folder: undefined, file: undefined, since: undefined };

function seenFile(absolute: string, stats: EntryStats, keepsBytes: boolean): SeenFile {
  const identity = Identity.of(stats);
  const read = readEntry(absolute, stats.size, keepsBytes);
  if (read !== null) {
    const { hash, bytes, attributes } = read;
    if (!sameUntouched(Identity.of(read.stats), identity)) return { identity, hash: undefined };
    return { identity, hash, bytes, names: stats.nlink, attributes };
  }
  const hash = hashAt(absolute, identity, false);
  const bytes = keepsBytes ? attemptOr(undefined, () => readNoFollow(absolute)) : undefined;
  return sameUntouched(identifyAt(absolute), identity)
    ? { identity, hash, bytes }
    : { identity, hash: undefined };
}

/** The folder at a path, if it may be the stamp's. A replacement has a new time of change, and the folder above a new time of writing. */
function folderSince(absolute: string, stats: EntryStats, stamp: bigint): FolderBase {
  const untouched = stats.ctimeNs < stamp || (statEntryAt(dirname(absolute))?.mtimeNs ?? stamp) < stamp;
  const onlyWrittenTo = stats.ctimeNs === stats.mtimeNs && stats.birthtimeNs < stamp;
  return untouched || onlyWrittenTo ? { ino: stats.ino } : NO_FOLDER;
}

/** So many paths are noted before a command has ended; the look at its end finds the others. */
const MOST_EARLY = 20_000;
/** The process is left to others after so long. */
const EARLY_SLICE_MS = 5;
/** A command that is over sooner is not looked at. */
const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 1_000;
/** A look at a large layer that finds nothing new is a small part of the time. */
const PAUSE_SHARE = 20;

/**
 * Reads and hashes the workspace's versions of written files while the command runs and this program is idle. What the command
 * leaves unchanged is forgotten at its end, as if all had been read afterwards.
 */
export type EarlySight = ReturnType<typeof createEarlySight>;

export function createEarlySight(roots: readonly LaidRoot[], sight: FirstSight) {
  const noted = new Set<string>();
  return {
    watch: (): (() => void) => watchUppers(roots, sight, noted),
    /** Whether the workspace had an untouched file there when the command had changed it. */
    sawFile: (absolute: string) => noted.has(absolute) && sight.file(absolute) !== undefined,
    /** The command is over: only paths that are still changed stay noted. */
    settle(isChanged: (absolute: string) => boolean): void {
      for (const absolute of noted) if (!isChanged(absolute)) sight.forget(absolute);
      noted.clear();
    },
  };
}

function watchUppers(roots: readonly LaidRoot[], sight: FirstSight, noted: Set<string>): () => void {
  const folders = new Map<string, SeenFolder>();
  const sweep = createSweep();
  let isOver = false;
  let pause = FIRST_PAUSE_MS;
  let timer: Timer | undefined;
  const wait = (ms: number, next: () => void) => {
    timer = setTimeout(next, ms);
    timer.unref();
  };
  const note = (absolute: string) => {
    if (sight.existed(absolute) !== undefined) return;
    sight.note(absolute);
    noted.add(absolute);
    sweep();
  };
  const begin = () => {
    const before = noted.size;
    const steps = lookForFiles(roots, folders, note);
    let worked = 0;
    const goOn = () => {
      const from = performance.now();
      try {
        while (!isOver && noted.size < MOST_EARLY) {
          const isDone = steps.next().done === true;
          const spent = performance.now() - from;
          if (!isDone && spent <= EARLY_SLICE_MS) continue;
          worked += spent;
          if (!isDone) return wait(0, goOn);
          const isIdle = noted.size === before;
          pause = isIdle ? Math.min(pause * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
          return wait(isIdle ? Math.max(pause, worked * PAUSE_SHARE) : pause, begin);
        }
      } catch {
        // The command takes folders away, and shuts them, while they are read: the look at its end says so.
        wait(LONGEST_PAUSE_MS, begin);
      }
    };
    if (!isOver) goOn();
  };
  wait(pause, begin);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

interface SeenFolder {
  /** The kernel resets the modification time when it copies a file up; no one can set the change time. */
  readonly ctime: string;
  readonly below: readonly string[];
}

/** A look at the files of all uppers, in steps of one folder or one file. */
function* lookForFiles(
  roots: readonly LaidRoot[],
  folders: Map<string, SeenFolder>,
  note: (absolute: string) => void,
): Generator<void> {
  for (const root of roots) {
    const pending = [""];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      yield;
      const folder = at === "" ? root.upper : `${root.upper}/${at}`;
      const stats = statEntryAt(folder);
      if (stats?.isDirectory() !== true) continue;
      const known = folders.get(folder);
      if (known?.ctime === stats.ctime) {
        for (const path of known.below) pending.push(path);
        continue;
      }
      const below: string[] = [];
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = at === "" ? entry.name : `${at}/${entry.name}`;
        if (entry.isDirectory()) below.push(path);
        if (!entry.isFile()) continue;
        note(`${root.path}/${path}`);
        yield;
      }
      folders.set(folder, { ctime: stats.ctime, below });
      for (const path of below) pending.push(path);
    }
  }
}

/** The findings of one look at a path are one number: a job may change a hundred thousand paths. */
const PRESENT = 1;
const FOLDER = 2;
/** The workspace's entries below it are hidden. */
const HIDES_LOWER = 4;
/** Set in every other look. */
const TURN = 8;
const FLAGS = 16;

function hasFlag(seen: number | undefined, flag: number): boolean {
  return seen !== undefined && ((seen % FLAGS) & flag) !== 0;
}

function isSeenAlike(one: number, other: number): boolean {
  const [marks, same] = [one - (one % FLAGS), other - (other % FLAGS)];
  const isFolder = hasFlag(one, FOLDER);
  if (isFolder !== hasFlag(other, FOLDER) || hasFlag(one, PRESENT) !== hasFlag(other, PRESENT)) return false;
  return isFolder || marks === same;
}

/** Finds the changes of one command: the difference between two looks at the uppers. Cost follows the changes. */
export function createChangeWatch(
  roots: readonly LaidRoot[],
  workspace: string,
  sight: FirstSight,
  early?: EarlySight,
  /** Takes the paths of removed entries whose names are not UTF-8: they are readable, and lead nowhere. */
  nameless?: Set<string>,
): () => Change[] {
  const last = new Map<string, number>();
  let turn = 0;
  return () => {
    turn = TURN - turn;
    const changes: Change[] = [];
    const sweep = createSweep();
    const shut: string[] = [];
    for (const root of roots) {
      const unreadable = (path: string) => void shut.push(`${root.path}/${path}/`);
      for (const { path, stats, kind, inherits } of walkUpper(root, { unreadable })) {
        sweep();
        if (kind === "other") continue;
        const absolute = `${root.path}/${path}`;
        const below = createLazyStat(absolute);
        sight.note(absolute, below);
        const wasFile = early?.sawFile(absolute) === true;
        const isFolder = kind === "directory" || kind === "opaque";
        const isPresent = kind !== "gone";
        const hidesLower = kind !== "directory";
        const flags = (isPresent ? PRESENT : 0) + (isFolder ? FOLDER : 0) + (hidesLower ? HIDES_LOWER : 0);
        const seen = stats.ctimeMark * FLAGS + flags + turn;
        const before = last.get(absolute);
        last.set(absolute, seen);
        // Whichever entry replaces a folder, the whole content of the folder is gone.
        if (hidesLower && !inherits && !hasFlag(before, HIDES_LOWER))
          for (const gone of wasFile || below()?.isDirectory() !== true
            ? []
            : goneBelow(absolute, isFolder ? `${root.upper}/${path}` : null, last)) {
            const path = pathBelow(workspace, gone.absolute);
            if (gone.noText) nameless?.add(path);
            changes.push({ path, kind: "deleted" });
          }
        if (before !== undefined && isSeenAlike(before, seen)) continue;
        const existed = before === undefined ? wasFile || below() !== undefined : hasFlag(before, PRESENT);
        const wasFolder =
          before === undefined ? !wasFile && below()?.isDirectory() === true : hasFlag(before, FOLDER);
        if (isPresent === existed && isFolder && wasFolder) continue;
        if (!isPresent && !existed) continue;
        changes.push({
          path: shownBelow(workspace, root.path, path),
          kind: isPresent ? (existed ? "modified" : "added") : "deleted",
        });
      }
    }
    for (const [absolute, before] of last) {
      if (hasFlag(before, TURN) === (turn !== 0)) continue;
      // A folder that the job made unreadable counts as unchanged.
      if (shut.some((folder) => absolute.startsWith(folder))) {
        last.set(absolute, before - TURN + 2 * turn);
        continue;
      }
      last.delete(absolute);
      if (hasFlag(before, PRESENT)) changes.push({ path: pathBelow(workspace, absolute), kind: "deleted" });
    }
    early?.settle((absolute) => last.has(absolute));
    // A folder was removed, and what the job did not see in it stays.
    const unseen = new Set(
      roots.flatMap(({ path, hides }) => [...hides].map((at) => pathBelow(workspace, `${path}/${at}`))),
    );
    return changes
      .filter(({ path, kind }) => kind !== "deleted" || !unseen.has(path))
      .filter(({ path }) => !/(^|\/)\.git\/(.*\/)?objects\//.test(path))
      .sort((x, y) => (x.path < y.path ? -1 : 1));
  };
}

/** All that was removed with a folder, or with the former contents of an opaque one, except entries that the last look already knew. */
function* goneBelow(
  lower: string,
  upper: string | null,
  last: ReadonlyMap<string, number>,
): Generator<{ readonly absolute: string; readonly noText: boolean }> {
  const enter = (path: string) => !hasFlag(last.get(`${lower}/${path}`), HIDES_LOWER);
  for (const { path, noText = false } of walkFolder(lower, { enter, noText: true })) {
    const absolute = `${lower}/${path}`;
    const stays = upper !== null && statEntryAt(`${upper}/${path}`) !== undefined;
    if (!stays && !last.has(absolute)) yield { absolute, noText };
  }
}

/** The current entry at a path of the workspace, looked at once and only on request. */
function createLazyStat(absolute: string): () => EntryStats | undefined {
  let seen: EntryStats | undefined | null = null;
  return () => {
    if (seen === null) seen = statEntryAt(absolute);
    return seen;
  };
}
