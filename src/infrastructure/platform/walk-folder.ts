import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { attemptOr, attemptSystem, succeeds } from "../../domain/platform/error-text.ts";
import { type EntryStats, lstatEntry, lstatIn, toEntryStats } from "./entry-stats.ts";
import { inParent, O_PATH } from "./open-folder.ts";
import { removeTree } from "./remove-tree.ts";

/** The decoder's replacement for bytes that are not UTF-8; a name may also contain it as a character. */
const REPLACEMENT = "\ufffd";

/** The names in a folder; those that are not UTF-8, separately as bytes. */
export function namesIn(folder: string): { readonly texts: string[]; readonly bytes: readonly Buffer[] } {
  const texts = readdirSync(folder);
  if (!texts.some((name) => name.includes(REPLACEMENT))) return { texts, bytes: [] };
  const raw = readdirSync(folder, { encoding: "buffer" }) as Buffer[];
  const isText = (name: Buffer) => Buffer.from(name.toString("utf8")).equals(name);
  return {
    texts: raw.filter(isText).map((name) => name.toString("utf8")),
    bytes: raw.filter((name) => !isText(name)),
  };
}

export interface ByteEntry {
  /** Its path for display: bytes that are not UTF-8 as `\x83`. */
  readonly shown: string;
  readonly stats: EntryStats;
}

/** Entries of a folder by their bytes, each with all below it. */
export function* walkBytes(folder: string, shown: string, names: readonly Buffer[]): Generator<ByteEntry> {
  const pending = names.map((name) => ({ within: Buffer.from(folder), shown, name }));
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const path = Buffer.concat([entry.within, SLASH, entry.name]);
    const shown = `${entry.shown === "" ? "" : `${entry.shown}/`}${printBytes(entry.name)}`;
    const stats = attemptSystem(null, () => lstatEntry(path)) ?? null;
    if (stats === null) continue;
    yield { shown, stats };
    if (!stats.isDirectory()) continue;
    const below = attemptSystem(null, () => readdirSync(path, { encoding: "buffer" }) as Buffer[]) ?? [];
    for (const name of below) pending.push({ within: path, shown, name });
  }
}

const SLASH = Buffer.from("/");

/** A name whose bytes that are not UTF-8 are escaped. */
function printBytes(name: Buffer): string {
  let said = "";
  for (let at = 0; at < name.length; ) {
    const length = [1, 2, 3, 4].find((n) => isCharacter(name.subarray(at, at + n), n));
    said +=
      length === undefined
        ? `\\x${(name[at] as number).toString(16).padStart(2, "0")}`
        : name.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return said;
}

function isCharacter(bytes: Buffer, length: number): boolean {
  const text = bytes.toString("utf8");
  return bytes.length === length && [...text].length === 1 && Buffer.from(text).equals(bytes);
}

export interface WalkedEntry {
  readonly path: string;
  readonly stats: EntryStats;
  /** Its name, or that of a folder above it, is not UTF-8: `path` is for display and cannot be opened. */
  readonly noText?: true;
  /** A shorter way to it than its path, through its open folder, until the next entry is asked for. */
  readonly near?: string;
}

export interface WalkOptions {
  /** Returns false to leave a path, and all below it, out. */
  readonly enter?: (path: string, stats: EntryStats) => boolean;
  /** Called for what cannot be listed or looked at, or is on another file system. `tooLong`: the system opens no name of that length. */
  readonly unreadable?: (path: string, why?: { readonly tooLong: boolean }) => void;
  /** Includes names that are not UTF-8. Default: they are reported as `unreadable`, in a form for display. */
  readonly noText?: boolean;
  /** Opens folders whose mode excludes their owner; `stats` still have the original mode. */
  readonly unlock?: boolean;
}

/** Every entry below `root`, parents before children; follows no symlink and enters no other file system. */
export function* walkFolder(root: string, options: WalkOptions = {}): Generator<WalkedEntry> {
  // Followed: a root may be named through a descriptor (`/proc/self/fd/N`).
  const device = toEntryStats(statSync(root, { bigint: true })).dev;
  const pending: string[] = [""];
  while (pending.length > 0) {
    const folder = pending.pop() as string;
    const within = folder === "" ? root : `${root}/${folder}`;
    let names: ReturnType<typeof namesIn>;
    try {
      names = namesIn(within);
    } catch (error) {
      options.unreadable?.(folder, { tooLong: isTooLong(error) });
      continue;
    }
    for (const { shown, stats } of walkBytes(within, folder, names.bytes)) {
      if (options.noText === true) yield { path: shown, stats, noText: true };
      else options.unreadable?.(shown);
    }
    const opened = names.texts.length < WORTH_OPENING ? null : openNear(within, folder === "");
    try {
      for (const name of names.texts) {
        const path = folder === "" ? name : `${folder}/${name}`;
        const near = opened === null ? undefined : `/proc/self/fd/${opened}/${name}`;
        let stats: EntryStats | null = null;
        try {
          stats = (opened === null ? lstatEntry(`${root}/${path}`) : lstatIn(opened, name)) ?? null;
          if (stats === null) options.unreadable?.(path);
        } catch (error) {
          options.unreadable?.(path, { tooLong: isTooLong(error) });
        }
        if (stats === null) continue;
        if (options.enter?.(path, stats) === false) continue;
        if (options.unlock && stats.isDirectory()) unlockFolder(`${root}/${path}`, stats);
        yield near === undefined ? { path, stats } : { path, stats, near };
        if (stats.isDirectory()) {
          if (stats.dev === device) pending.push(path);
          else options.unreadable?.(path);
        }
      }
    } finally {
      if (opened !== null) closeSync(opened);
    }
  }
}

/** A folder of fewer names is not opened for them: each name then costs its whole way. */
const WORTH_OPENING = 8;

/** Null where its names have to be reached by their paths. */
function openNear(folder: string, isRoot: boolean): number | null {
  if (process.platform !== "linux") return null;
  return attemptOr(null, () =>
    openSync(folder, constants.O_DIRECTORY | O_PATH | (isRoot ? 0 : constants.O_NOFOLLOW)),
  );
}

/** Root passes every door; others open their own. */
function unlockFolder(path: string, stats: EntryStats): void {
  if ((stats.mode & 0o700) === 0o700 || process.getuid?.() === 0) return;
  // Of a folder that belongs to another user, the walk reports that it cannot be read.
  succeeds(() => chmodSync(path, stats.permissions | 0o700));
}

function isTooLong(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ENAMETOOLONG";
}

/** Makes every parent of `path` below `root` a folder, and removes a link or file in its place. `modeOf`: the mode of a new one. */
export function makeParents(
  root: string,
  path: string,
  modeOf: (parent: string) => number | undefined,
): void {
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const parent = parts.slice(0, i).join("/");
    inParent(root, parent, (folder, name) => {
      const at = `${folder}/${name}`;
      const there = lstatSync(at, { throwIfNoEntry: false });
      if (there?.isDirectory()) return;
      if (there !== undefined) removeTree(at);
      mkdirSync(at);
      const mode = modeOf(parent);
      if (mode !== undefined) chmodSync(at, mode | 0o700);
    });
  }
}

/** A folder for a trial, or why there is none: the diagnosis reports that and continues. */
export function trialFolder(storage: string): string | { readonly complaint: string } {
  try {
    return mkdtempSync(join(storage, "trial-"));
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) };
  }
}
