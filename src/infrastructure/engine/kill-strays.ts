import { readdirSync, readFileSync } from "node:fs";

/**
 * Ends sandboxes of a job that were left behind. bubblewrap that is killed in the instant between its fork and its
 * first word leaves a child that waits for it for ever; that child still carries bubblewrap's command line, which names
 * the job's folder.
 */
export function killStrays(...jobs: string[]): void {
  if (process.platform !== "linux") return;
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || !isSandboxOf(pid, jobs)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

function isSandboxOf(pid: string, jobs: readonly string[]): boolean {
  try {
    const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return argv.includes("--as-pid-1") && argv.some((one) => jobs.includes(one));
  } catch {
    return false;
  }
}
