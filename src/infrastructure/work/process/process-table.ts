import { readDarwinProcesses } from "./darwin-process-table.ts";
import { readLinuxProcesses, sameLinuxProcess } from "./linux-process-table.ts";
import type { ProcessEntry } from "./process-entry.ts";

export async function readProcessTable(): Promise<readonly ProcessEntry[]> {
  if (process.platform === "linux") return readLinuxProcesses();
  if (process.platform === "darwin") return readDarwinProcesses();
  return [];
}

/** Signals exactly this process: a pid that another process has taken over since is left alone. */
export function signalProcess(entry: ProcessEntry, signal: NodeJS.Signals): void {
  if (process.platform === "linux" && !sameLinuxProcess(entry)) return;
  try {
    process.kill(entry.pid, signal);
  } catch {
    // Gone already, or not ours to signal: the next look at the table tells which.
  }
}
