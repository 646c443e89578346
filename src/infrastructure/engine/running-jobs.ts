import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
} from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import type { WorkspaceBacking } from "../../application/jobs/workspace-jobs.ts";
import { createCheckSlots } from "../../application/platform/check-slots.ts";
import type { WorkspaceDeps } from "../../application/ports/jobs-workspace.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { hashHex } from "../platform/hash.ts";
import { tryFlock } from "../platform/libc.ts";
import { isAlive, processBirth, processLife } from "../platform/process-table.ts";
import { isDead, listRunning } from "../platform/workspace-storage.ts";

/** Jobs at work, as files in `running/` that their processes hold locked: one that can be locked belongs to a job whose process died. */
export function createRunningJobs(storage: string) {
  const folder = join(storage, "running");
  const held = new Map<string, number>();
  return {
    start(jobId: string): void {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const descriptor = openSync(join(folder, `.${jobId}`), "w", 0o600);
      held.set(jobId, descriptor);
      tryFlock(descriptor);
      renameSync(join(folder, `.${jobId}`), join(folder, jobId));
    },
    end(jobId: string): void {
      const descriptor = held.get(jobId);
      if (descriptor !== undefined) closeSync(descriptor);
      held.delete(jobId);
      rmSync(join(folder, jobId), { force: true });
    },
    /** The jobs whose processes died. */
    sweep: (): string[] =>
      listRunning(folder).filter((jobId) => !held.has(jobId) && isDead(join(folder, jobId))),
  };
}

/** Whether the process of a job still works on it, in this container or another. */
function isHeld(storage: string, jobId: string): boolean {
  const path = join(storage, "running", jobId);
  return existsSync(path) && !isDead(path);
}

/** Whether a process holds a job's file in `running/` open: numbers are reused and differ across containers. Without /proc they decide. */
function isWorkingOnJob(storage: string, pid: number, jobId: string): boolean {
  if (process.platform !== "linux") return isAlive(pid);
  const file = join(storage, "running", jobId);
  return attemptOr(false, () =>
    readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === file),
  );
}

/** Long enough that a check which has just begun to compute shows. */
const LOAD_LOOK_MS = 150;

/** Processor time that the machine has spent since it started, in milliseconds. */
function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

/** A machine that is busy with anything at all has no room for a further check. */
function watchLoad(onLook: (busyCores: number) => void): () => void {
  let last = { busy: busyMs(), at: performance.now() };
  const timer = setInterval(() => {
    const now = { busy: busyMs(), at: performance.now() };
    const busyCores = (now.busy - last.busy) / (now.at - last.at);
    last = now;
    onLook(busyCores);
  }, LOAD_LOOK_MS);
  return () => clearInterval(timer);
}

const CHECK_CORES = Math.max(1, Math.floor(availableParallelism() / 2));

/** The machine is shared by everything that this process checks, in whichever workspace: half of it is for checks. */
const CHECK_SLOTS = createCheckSlots({ cores: CHECK_CORES, most: 4 * CHECK_CORES, watchLoad });

export function jobsOfThisProcess(): Pick<
  WorkspaceDeps,
  "planOptions" | "pid" | "birth" | "now" | "clock" | "random" | "checkSlots"
> {
  return {
    checkSlots: CHECK_SLOTS,
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    pid: process.pid,
    birth: processBirth(process.pid),
    now: () => new Date(),
    clock: () => performance.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
}

/** The processes of this machine that work on the jobs of a storage. */
export function createJobHolders(
  storage: string,
): Pick<WorkspaceBacking, "isAlive" | "worksOn" | "signal" | "pause"> {
  return {
    isAlive({ jobId, pid, birth }) {
      if (pid === undefined) return false;
      const life = processLife(pid, birth);
      return life === "elsewhere" ? isHeld(storage, jobId) : life === "lives";
    },
    worksOn: (pid, jobId) => isWorkingOnJob(storage, pid, jobId),
    signal: (pid, signal) => void process.kill(pid, signal),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}
