import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tryFlock } from "../platform/file-lock.ts";

/**
 * Which jobs are being worked on, as files in `running/` that their processes hold locked. The lock goes with the
 * process, in whatever container it ran, so a file that can be locked belongs to a job whose process died.
 */
export interface RunningJobs {
  start(jobId: string): void;
  end(jobId: string): void;
  /** The jobs whose processes died. */
  sweep(): string[];
}

export function createRunningJobs(storage: string): RunningJobs {
  const folder = join(storage, "running");
  const held = new Map<string, number>();
  return {
    start(jobId) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const descriptor = openSync(join(folder, `.${jobId}`), "w", 0o600);
      held.set(jobId, descriptor);
      tryFlock(descriptor, "exclusive");
      renameSync(join(folder, `.${jobId}`), join(folder, jobId));
    },
    end(jobId) {
      const descriptor = held.get(jobId);
      if (descriptor !== undefined) closeSync(descriptor);
      held.delete(jobId);
      rmSync(join(folder, jobId), { force: true });
    },
    sweep: () => names(folder).filter((jobId) => !held.has(jobId) && isDead(join(folder, jobId))),
  };
}

function isDead(path: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return false;
  }
  try {
    return tryFlock(descriptor, "exclusive").ok;
  } finally {
    closeSync(descriptor);
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith("job_"))
      .sort();
  } catch {
    return [];
  }
}

/** Whether the process of a job is still at work on it, wherever that is. */
export function isHeld(storage: string, jobId: string): boolean {
  const path = join(storage, "running", jobId);
  return existsSync(path) && !isDead(path);
}

/** Whether the process of some job is still at work. */
export function hasLiveJobs(storage: string): boolean {
  const folder = join(storage, "running");
  return names(folder).some((jobId) => !isDead(join(folder, jobId)));
}
