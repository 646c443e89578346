import type { KilledProcess, ProcessRunner, RunningProcess } from "../../application/ports/process.ts";
import { stopDraining } from "./background-drains.ts";
import { DEFAULT_GRACE_MS, killProcesses } from "./kill-processes.ts";
import { readProcessTable } from "./process-table.ts";
import { runProcess } from "./process-runner.ts";
import { selectProcesses, untaggedJobEnded } from "./select-processes.ts";

/** Processes of the host this program runs on. Holds nothing: any number of runners see the same jobs. */
export function createProcessRunner(): ProcessRunner {
  return { runProcess, listJobProcesses, killJobProcesses };
}

async function listJobProcesses(jobMarker: string): Promise<readonly RunningProcess[]> {
  return selectProcesses(await readProcessTable(), { jobMarker })
    .filter((entry) => !entry.zombie)
    .map((entry) => ({ pid: entry.pid, command: entry.command() }));
}

async function killJobProcesses(
  jobMarker: string,
  options: { readonly graceMs?: number } = {},
): Promise<readonly KilledProcess[]> {
  const killed = await killProcesses({ jobMarker }, options.graceMs ?? DEFAULT_GRACE_MS);
  stopDraining(jobMarker);
  untaggedJobEnded(jobMarker);
  return killed;
}
