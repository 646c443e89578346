import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./is-alive.ts";

/**
 * Whether a process is the one that works on a job: it holds the job's file in `running/` open. Process numbers are
 * given again, and mean nothing across containers. Where there is no /proc the number has to do.
 */
export function isWorkingOnJob(storage: string, pid: number, jobId: string): boolean {
  if (process.platform !== "linux") return isAlive(pid);
  const file = join(storage, "running", jobId);
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === file);
  } catch {
    return false;
  }
}
