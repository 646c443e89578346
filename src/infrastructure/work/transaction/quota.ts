import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Evicted } from "../../../application/ports/transaction.ts";
import { walk } from "../folder/walk.ts";
import { readIntent } from "./intent.ts";
import {
  appendJournal,
  type JobFolder,
  jobFolder,
  listJobIds,
  readJson,
  readState,
  removeSlots,
  writeState,
} from "./job-folder.ts";

/** Disk that a job's slots occupy. */
export function slotBytes(folder: JobFolder): number {
  const slots = join(folder.path, "slots");
  let bytes = 0;
  if (!existsSync(slots)) return 0;
  for (const name of readdirSync(slots)) {
    const stats = lstatSync(join(slots, name), { bigint: true });
    bytes += Number(stats.blocks) * 512;
    if (stats.isDirectory())
      for (const below of walk(join(slots, name), { noText: true }))
        bytes += Number(below.stats.blocks) * 512;
  }
  return bytes;
}

/** The second in a job's id; within one second, the one that last changed its state earlier. */
function byAge(x: string, xAt: string, y: string, yAt: string): number {
  const second = (id: string) => Number(id.split("_")[1]);
  return second(x) - second(y) || (xAt < yAt ? -1 : xAt > yAt ? 1 : 0);
}

/** Forgets the oldest undo records and previews until the rest fits; the newest job is always kept. */
export function evictPastQuota(
  storage: string,
  quotaBytes: number,
  keep: string,
  now: () => Date,
): Evicted[] {
  const known = readJson<{ bytes: number }>(kept(storage))?.bytes;
  const atMost =
    known === undefined
      ? Number.POSITIVE_INFINITY
      : known + (readState(jobFolder(storage, keep))?.bytes ?? 0);
  if (atMost <= quotaBytes) {
    writeKept(storage, atMost);
    return [];
  }
  const busy = readIntent(storage)?.job_id;
  const jobs = listJobIds(storage)
    .map((id) => ({ folder: jobFolder(storage, id), state: readState(jobFolder(storage, id)) }))
    .filter(({ state }) => state !== null && ["committed", "undone", "staged"].includes(state.state))
    .sort((x, y) => byAge(x.folder.id, x.state?.at ?? "", y.folder.id, y.state?.at ?? ""));
  let total = jobs.reduce((sum, { state }) => sum + (state?.bytes ?? 0), 0);
  const evicted: Evicted[] = [];
  for (const { folder, state } of jobs) {
    if (total <= quotaBytes) break;
    const bytes = state?.bytes ?? 0;
    if (folder.id === keep || folder.id === busy || bytes === 0) continue;
    removeSlots(folder);
    writeState(folder, { state: "evicted", at: now().toISOString(), bytes: 0, turn: state?.turn ?? 0 });
    appendJournal(
      folder,
      `${JSON.stringify({ at: now().toISOString(), event: { type: "evicted", bytes } })}\n`,
    );
    total -= bytes;
    evicted.push({ jobId: folder.id, bytes });
  }
  writeKept(storage, total);
  return evicted;
}

/**
 * An upper bound of what all jobs keep, so that a workspace with ten thousand jobs need not read them all for one
 * more. Every job adds to it; it is counted anew only when it passes the quota.
 */
function kept(storage: string): string {
  return join(storage, "kept.json");
}

function writeKept(storage: string, bytes: number): void {
  writeFileSync(kept(storage), JSON.stringify({ bytes }));
}
