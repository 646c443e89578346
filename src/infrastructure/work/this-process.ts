import type { WorkspaceBacking } from "../../application/work/create-workspace.ts";
import type { WorkspaceParts } from "../../application/work/workspace-parts.ts";
import { hashHex } from "../runtime/hash.ts";
import { birthOf, lifeOf } from "./process/process-birth.ts";
import { worksOn } from "./transaction/job-holder.ts";
import { isHeld } from "./transaction/running-jobs.ts";

/** What jobs take of this process, wherever they happen. */
export function jobsOfThisProcess(): Pick<
  WorkspaceParts,
  "planOptions" | "pid" | "birth" | "now" | "clock" | "random"
> {
  return {
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    pid: process.pid,
    birth: birthOf(process.pid),
    now: () => new Date(),
    clock: () => performance.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
}

/** The processes of this machine that work on the jobs of a storage. */
export function holdersOf(
  storage: string,
): Pick<WorkspaceBacking, "isAlive" | "worksOn" | "signal" | "pause"> {
  return {
    isAlive({ jobId, pid, birth }) {
      if (pid === undefined) return false;
      const life = lifeOf(pid, birth);
      return life === "elsewhere" ? isHeld(storage, jobId) : life === "lives";
    },
    worksOn: (pid, jobId) => worksOn(storage, pid, jobId),
    signal: (pid, signal) => void process.kill(pid, signal),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}
