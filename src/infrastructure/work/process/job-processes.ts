import type { JobProcess, KilledProcess } from "../../../application/ports/process.ts";
import { stopDraining } from "./background-drains.ts";
import { DEFAULT_GRACE_MS, killProcesses } from "./kill-processes.ts";
import { readProcessTable } from "./process-table.ts";
import { selectProcesses } from "./select-processes.ts";
import { untaggedJobEnded } from "./untagged-jobs.ts";

export async function listJobProcesses(jobMarker: string): Promise<readonly JobProcess[]> {
  return selectProcesses(await readProcessTable(), { jobMarker })
    .filter((entry) => !entry.zombie)
    .map((entry) => ({ pid: entry.pid, command: entry.command() }));
}

export async function killJobProcesses(
  jobMarker: string,
  options: { readonly graceMs?: number } = {},
): Promise<readonly KilledProcess[]> {
  const killed = await killProcesses({ jobMarker }, options.graceMs ?? DEFAULT_GRACE_MS);
  stopDraining(jobMarker);
  untaggedJobEnded(jobMarker);
  return killed;
}
