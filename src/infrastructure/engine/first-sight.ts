import { type BigIntStats, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { type Identity, identifyAt, identityOf, isAbsence, sameUntouched } from "./entry-identity.ts";
import { hashAt } from "./content.ts";
import { mayBeIndex } from "./git-area.ts";
import { type FolderBase, NO_FOLDER } from "./way-folders.ts";

/**
 * Remembers, for each path that a job changes, what stood in the workspace when the change was first seen. An overlay
 * alone does not tell "the job made it" from "somebody deleted it below since".
 */
export interface FirstSight {
  /** `look` tells what stands there, where somebody has a use for the answer as well. */
  note(absolute: string, look?: () => BigIntStats | undefined): void;
  /** Undefined when the path was never noted. */
  existed(absolute: string): boolean | undefined;
  /** A file that had not been touched since the view was opened. */
  file(absolute: string): SeenFile | undefined;
  /** Which folder the view has at a path, as far as it can be told; null where none stood. */
  folder(absolute: string): FolderBase | null;
  /** A view was opened again at this stamp: it shows what the workspace had by then. */
  reopened(stamp: bigint): void;
  /** The stamp of the view in which the path was first noted; undefined for the first view. */
  since(absolute: string): bigint | undefined;
}

export interface SeenFile {
  readonly identity: Identity;
  /** Absent where it would cost too much. */
  readonly hash: string | undefined;
}

export function createFirstSight(begin: bigint): FirstSight {
  const seen = new Map<string, boolean>();
  const folders = new Map<string, FolderBase>();
  const files = new Map<string, SeenFile>();
  const stamps = new Map<string, bigint>();
  let current: bigint | null = null;
  return {
    note(absolute, look = () => statEntryAt(absolute)) {
      if (seen.has(absolute)) return;
      const stats = look();
      seen.set(absolute, stats !== undefined);
      if (stats?.isDirectory()) folders.set(absolute, folderSince(absolute, stats, current ?? begin));
      else if (stats?.isFile() && stats.ctimeNs < (current ?? begin) && !mayBeIndex(absolute))
        files.set(absolute, seenFile(absolute, stats));
      if (current !== null) stamps.set(absolute, current);
    },
    existed: (absolute) => seen.get(absolute),
    file: (absolute) => files.get(absolute),
    folder(absolute) {
      const known = folders.get(absolute);
      if (known !== undefined || seen.has(absolute)) return known ?? null;
      const stats = statEntryAt(absolute);
      return stats?.isDirectory() ? folderSince(absolute, stats, current ?? begin) : null;
    },
    reopened(stamp) {
      current = stamp;
    },
    since: (absolute) => stamps.get(absolute),
  };
}

function seenFile(absolute: string, stats: BigIntStats): SeenFile {
  const identity = identityOf(stats);
  const hash = hashAt(absolute, identity, false);
  return { identity, hash: sameUntouched(identifyAt(absolute), identity) ? hash : undefined };
}

/**
 * The folder that stands at a path, if it can be the one that stood there at the stamp. Who puts another in its place
 * changes the folder above and, by the rename, the time of change of that other one, but not its time of writing.
 */
function folderSince(absolute: string, stats: BigIntStats, stamp: bigint): FolderBase {
  const untouched = stats.ctimeNs < stamp || (statEntryAt(dirname(absolute))?.mtimeNs ?? stamp) < stamp;
  const onlyWrittenTo = stats.ctimeNs === stats.mtimeNs && stats.birthtimeNs < stamp;
  return untouched || onlyWrittenTo ? { ino: String(stats.ino) } : NO_FOLDER;
}

/** Whether anything stands at a path; a file in the place of a parent means no. */
export function entryExistsAt(absolute: string): boolean {
  return statEntryAt(absolute) !== undefined;
}

export function statEntryAt(absolute: string): BigIntStats | undefined {
  try {
    return lstatSync(absolute, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}
