import { reapChild } from "../platform/process-control.ts";
import type { ProcessEntry } from "./process-table.ts";

/** Children that the runtime waits for itself; burying one of them would lose its exit code. */
const liveLeaders = new Set<number>();

export function leaderStarted(pid: number): void {
  liveLeaders.add(pid);
}

export function isLiveLeader(pid: number): boolean {
  return liveLeaders.has(pid);
}

export function leaderEnded(pid: number): void {
  liveLeaders.delete(pid);
}

/** As sub-reaper we inherit a job's orphans; the runtime does not know them, so they are buried here. */
export function reapOrphans(ofOneJob: readonly ProcessEntry[]): void {
  for (const entry of ofOneJob) {
    if (entry.zombie && entry.parentPid === process.pid && !liveLeaders.has(entry.pid)) reapChild(entry.pid);
  }
}
