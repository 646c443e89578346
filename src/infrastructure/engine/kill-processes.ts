import type { KilledProcess } from "../../application/ports/process.ts";
import { type ProcessEntry, readProcessTable, signalProcess } from "./process-table.ts";
import { reapOrphans } from "./reap-orphans.ts";
import { type ProcessScope, processKey, selectProcesses } from "./select-processes.ts";

export const DEFAULT_GRACE_MS = 1500;
const KILL_DEADLINE_MS = 3000;
const LONGEST_PAUSE_MS = 50;

/**
 * Ends all of a scope. Steps: TERM (and CONT, for what was stopped); look again until the grace is
 * over, TERM to newcomers; then freeze with STOP, so that nothing can fork away, and KILL, until a look
 * finds nobody or the deadline passes.
 */
export async function killProcesses(scope: ProcessScope, graceMs: number): Promise<readonly KilledProcess[]> {
  const commands = new Map<string, { readonly pid: number; readonly command: string }>();
  const known = new Set<string>();
  const look = async () => {
    const found = selectProcesses(await readProcessTable(), scope, known);
    const alive = found.filter((entry) => !entry.zombie);
    const newcomers = alive.filter((entry) => !known.has(processKey(entry)));
    for (const entry of newcomers) {
      known.add(processKey(entry));
      commands.set(processKey(entry), { pid: entry.pid, command: entry.command() });
    }
    reapOrphans(found);
    return { alive, newcomers };
  };

  const terminate = (entries: readonly ProcessEntry[]) => {
    for (const entry of entries) {
      signalProcess(entry, "SIGTERM");
      signalProcess(entry, "SIGCONT");
    }
  };
  const now = () => performance.now();

  let { alive, newcomers } = await look();
  const graceEnds = now() + graceMs;
  for (let wait = 2; alive.length > 0 && now() < graceEnds; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    terminate(newcomers);
    await pause(Math.min(wait, Math.max(0, graceEnds - now())));
    ({ alive, newcomers } = await look());
  }
  const killEnds = now() + KILL_DEADLINE_MS;
  for (let wait = 1; alive.length > 0 && now() < killEnds; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    for (const entry of alive) signalProcess(entry, "SIGSTOP");
    for (const entry of (await look()).alive) signalProcess(entry, "SIGKILL");
    await pause(wait);
    ({ alive } = await look());
  }
  const survivors = new Set(alive.map(processKey));
  return [...commands].map(([key, named]) => ({ ...named, survived: survivors.has(key) }));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
