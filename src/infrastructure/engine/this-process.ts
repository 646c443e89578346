import type { WorkspaceBacking } from "../../application/jobs/workspace.ts";
import type { WorkspaceDeps } from "../../application/jobs/workspace-parts.ts";
import { hashHex } from "../platform/hash.ts";
import { processBirth, processLife } from "./process-birth.ts";
import { isWorkingOnJob } from "./job-holder.ts";
import { isHeld } from "./running-jobs.ts";

/** What jobs take of this process, wherever they happen. */
export function jobsOfThisProcess(): Pick<
  WorkspaceDeps,
  "planOptions" | "pid" | "birth" | "now" | "clock" | "random"
> {
  return {
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
