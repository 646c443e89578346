import { statSync } from "node:fs";
import { join } from "node:path";
import type { JobStack, StackedJob } from "../../application/ports/history.ts";
import type { FileDifference, JobArchive } from "../../application/ports/jobs.ts";
import { changedFiles } from "../../domain/jobs/result.ts";
import { isBinaryContent } from "../../domain/patch/compare-lines.ts";
import {
  ClosedRecord,
  ifSound,
  jobFolder,
  listJobIds,
  planFile,
  readSoundState,
  readSwapRecord,
  readText,
  stateFile,
  withdrawJobFolder,
  writeWhole,
} from "../jobs/job-folder.ts";
import { openStateBefore, type StateDeps } from "./earlier-state.ts";

/** The index entry of a job: this as JSON, a tab, and the lines that it removed as a JSON text. */
interface IndexedJob {
  readonly id: string;
  /** Of its state when it was read; another one makes the line worthless. */
  readonly version: string;
  readonly group: string;
  /** The moment of its last swap: no two swaps of a workspace have the same, and a later swap has a later one. */
  readonly order: number;
  readonly isStanding: boolean;
  readonly known: boolean;
  readonly paths: readonly string[];
}

interface IndexLine extends IndexedJob {
  readonly removed: string;
}

/** Characters of removed lines that are kept for one job. */
const MOST_REMOVED = 64 * 1024;

/** Opens the stack of a workspace's jobs. Reading an index that is up to date takes a look at each job's folder. */
export function openJobStack(deps: StateDeps & { readonly archive: JobArchive }): JobStack {
  const { storage, archive } = deps;
  const index = join(storage, "history.index");
  const lines = readIndex(index);
  const fresh: IndexLine[] = [];
  let isStale = false;
  for (const id of listJobIds(storage)) {
    const version = versionOf(storage, id);
    const known = lines.get(id);
    if (version === null) continue;
    if (known?.version === version) fresh.push(known);
    else {
      fresh.push(indexJob(deps, id, version));
      isStale = true;
    }
  }
  if (isStale || fresh.length < lines.size) keepIndex(index, fresh);
  const standing = fresh
    .filter(({ isStanding }) => isStanding)
    .sort((x, y) => x.order - y.order || (x.id < y.id ? -1 : 1));
  const difference = (place: number, path: string): FileDifference | null => {
    const job = standing[place];
    if (job === undefined) return null;
    for (const one of archive.walkDifferences(job.id, path)) return one;
    return job.paths.includes(path) ? { path, before: undefined, after: undefined } : null;
  };
  return {
    jobs: standing.map(
      ({ id, group, known, paths, order: at }): StackedJob => ({
        jobId: id,
        groupId: group,
        known,
        paths,
        at,
      }),
    ),
    openBefore: (place) => openStateBefore(deps, standing.slice(place)),
    difference,
    differences: (place) => archive.walkDifferences(standing[place]?.id ?? ""),
    findRemoved(text) {
      const sought = JSON.stringify(text).slice(1, -1);
      return standing
        .map(({ removed }, place) => (removed.includes(sought) ? place : -1))
        .filter((place) => place >= 0)
        .reverse();
    },
    forgetProbe(jobId) {
      if (readSoundState(jobFolder(storage, jobId))?.state === "discarded") withdrawJobFolder(storage, jobId);
    },
  };
}

/** The state is replaced by a rename whenever it changes. Null for a job that has none yet. */
function versionOf(storage: string, id: string): string | null {
  const stats = statSync(stateFile(jobFolder(storage, id)), { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.ino}:${stats.mtimeMs}`;
}

function readIndex(path: string): Map<string, IndexLine> {
  const lines = new Map<string, IndexLine>();
  for (const line of (readText(path) ?? "").split("\n")) {
    const tab = line.indexOf("\t");
    if (tab < 0) continue;
    try {
      const head = JSON.parse(line.slice(0, tab)) as IndexedJob;
      lines.set(head.id, { ...head, removed: line.slice(tab + 1) });
    } catch {
      // A damaged line is read from its job again.
    }
  }
  return lines;
}

/** A full disk costs the next call its time, and nothing else. */
function keepIndex(path: string, lines: readonly IndexLine[]): void {
  try {
    writeWhole(path, lines.map(({ removed, ...head }) => `${JSON.stringify(head)}\t${removed}\n`).join(""));
  } catch {
    // It is rebuilt.
  }
}

function indexJob(
  { storage, archive }: StateDeps & { readonly archive: JobArchive },
  id: string,
  version: string,
): IndexLine {
  const folder = jobFolder(storage, id);
  const state = readSoundState(folder);
  const record = archive.read(id);
  if (record?.closed !== undefined) throw new ClosedRecord(record.closed);
  const swaps = state === null ? [] : (ifSound(() => readSwapRecord(folder, state.turn))?.swaps ?? []);
  const isEvicted = state?.state === "evicted" && record?.outcome === "committed";
  const isStanding = state?.state === "committed" || isEvicted;
  const known =
    state?.state === "committed" && statSync(planFile(folder), { throwIfNoEntry: false }) !== undefined;
  const paths = isStanding
    ? changedFiles(record?.changes ?? [])
        .map(({ path }) => path)
        .filter((path) => !path.startsWith(".git/") && !path.startsWith("../"))
    : [];
  const removed = known ? removedLines(archive.walkDifferences(id)) : "";
  return {
    id,
    version,
    group: record?.groupId ?? id,
    order: swaps.at(-1) ?? (Date.parse(record?.stateAt ?? "") || 0),
    isStanding: isStanding && paths.length > 0,
    known,
    paths,
    removed: JSON.stringify(removed),
  };
}

/** Lines that a job removed or replaced. */
function removedLines(differences: Iterable<FileDifference>): string {
  let text = "";
  for (const { path, before, after } of differences) {
    if (before == null || path.startsWith(".git/") || isBinaryContent(before)) continue;
    const decoder = new TextDecoder();
    const kept = new Set(after == null ? [] : decoder.decode(after).split("\n"));
    for (const line of decoder.decode(before).split("\n"))
      if (line.trim() !== "" && !kept.has(line) && text.length < MOST_REMOVED) text += `${line}\n`;
  }
  return text;
}
