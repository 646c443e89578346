import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EvictedJob } from "../../domain/jobs/result.ts";
import {
  appendJournal,
  isHalted,
  type JobFolder,
  jobFolder,
  listJobIds,
  readIntent,
  readJson,
  readSoundState,
  removeSlots,
  swappedJobId,
  writeState,
} from "../jobs/job-folder.ts";
import { lstatEntry } from "../platform/entry-stats.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { walkFolder } from "../platform/walk-folder.ts";

/** Disk that a job occupies: its slots, and its story with the outputs of its commands. `slotBytes`: where they are known. */
export function jobBytes(folder: JobFolder, slotBytes: number | null = null): number {
  const slots = join(folder.path, "slots");
  let bytes = storyBytes(folder) + (slotBytes ?? 0);
  if (slotBytes !== null) return bytes;
  if (!existsSync(slots)) return bytes;
  for (const name of readdirSync(slots)) {
    const stats = lstatEntry(`${slots}/${name}`);
    bytes += (stats?.blocks ?? 0) * 512;
    if (stats?.isDirectory())
      for (const below of walkFolder(join(slots, name), { noText: true })) bytes += below.stats.blocks * 512;
  }
  return bytes;
}

/** The files of a job's folder without the folders in it. */
function storyBytes(folder: JobFolder): number {
  if (!existsSync(folder.path)) return 0;
  let bytes = 0;
  for (const name of readdirSync(folder.path)) {
    const stats = lstatEntry(join(folder.path, name));
    if (stats?.isFile() === true) bytes += stats.blocks * 512;
  }
  return bytes;
}

const HOLDS_UNDO = new Set(["committed", "undone", "staged"]);

/** The second in a job's id; within one second, the one that last changed its state earlier. */
function byAge(x: string, xAt: string, y: string, yAt: string): number {
  const second = (id: string) => Number(id.split("_")[1]);
  return second(x) - second(y) || (xAt < yAt ? -1 : xAt > yAt ? 1 : 0);
}

/** Forgets the oldest undo records and previews until the rest fits, then the oldest jobs altogether; the newest job is always kept. */
export function evictPastQuota(
  storage: string,
  quotaBytes: number,
  keep: string,
  now: () => Date,
): EvictedJob[] {
  const known = readJson<{ bytes: number }>(keptBytesFile(storage))?.bytes;
  const atMost =
    known === undefined
      ? Number.POSITIVE_INFINITY
      : known + (readSoundState(jobFolder(storage, keep))?.bytes ?? 0);
  if (atMost <= quotaBytes) {
    writeKeptBytes(storage, atMost);
    return [];
  }
  const intent = readIntent(storage);
  // Before a repair, it is unknown which job's slots are in use.
  if (intent === "damaged") return [];
  const isKept = (folder: JobFolder) =>
    folder.id === keep || folder.id === swappedJobId(intent) || isHalted(folder);
  const jobs = listJobIds(storage)
    .map((id) => ({ folder: jobFolder(storage, id), state: readSoundState(jobFolder(storage, id)) }))
    .filter(({ state }) => state !== null && state.state !== "running")
    .sort((x, y) => byAge(x.folder.id, x.state?.at ?? "", y.folder.id, y.state?.at ?? ""));
  const bytesOf = ({ folder, state }: (typeof jobs)[number]) =>
    HOLDS_UNDO.has(state?.state ?? "") ? (state?.bytes ?? 0) : storyBytes(folder);
  let total = jobs.reduce((sum, job) => sum + bytesOf(job), 0);
  const evicted: EvictedJob[] = [];
  for (const job of jobs) {
    const { folder, state } = job;
    if (total <= quotaBytes) break;
    if (isKept(folder) || !HOLDS_UNDO.has(state?.state ?? "")) continue;
    const before = bytesOf(job);
    removeSlots(folder);
    const bytes = before - storyBytes(folder);
    if (bytes <= 0) continue;
    writeState(folder, { state: "evicted", at: now().toISOString(), bytes: 0, turn: state?.turn ?? 0 });
    appendJournal(
      folder,
      `${JSON.stringify({ at: now().toISOString(), event: { type: "evicted", bytes } })}\n`,
    );
    total -= bytes;
    evicted.push({ jobId: folder.id, bytes });
  }
  for (const { folder } of jobs) {
    if (total <= quotaBytes) break;
    if (isKept(folder)) continue;
    total -= storyBytes(folder);
    removeTree(folder.path);
  }
  writeKeptBytes(storage, total);
  return evicted;
}

/** An upper bound of all jobs' bytes: each job adds to it, and the exact size is counted only when the bound exceeds the quota. */
function keptBytesFile(storage: string): string {
  return join(storage, "kept.json");
}

function writeKeptBytes(storage: string, bytes: number): void {
  writeFileSync(keptBytesFile(storage), JSON.stringify({ bytes }));
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Removes jobs of which only the story is left once they are so many days old; 0 keeps them. Reads every job, so it looks once a day. */
export function removeOldStories(storage: string, days: number, now: () => Date): void {
  const mark = join(storage, "swept");
  const last = lstatSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (days === 0 || now().getTime() - last < DAY_MS) return;
  writeFileSync(mark, "");
  const oldest = now().getTime() - days * DAY_MS;
  for (const id of listJobIds(storage)) {
    const folder = jobFolder(storage, id);
    const state = readSoundState(folder);
    if (state?.state !== "evicted" && state?.state !== "discarded") continue;
    if (Date.parse(state.at) < oldest) removeTree(folder.path);
  }
}
