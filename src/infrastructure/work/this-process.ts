import type { WorkspaceBacking } from "../../application/work/create-workspace.ts";
import type { WorkspaceParts } from "../../application/work/workspace-parts.ts";
import { hashHex } from "../runtime/hash.ts";
import { isAlive } from "./process/is-alive.ts";
import { worksOn } from "./transaction/job-holder.ts";

/** What jobs take of this process, wherever they happen. */
export function jobsOfThisProcess(): Pick<
  WorkspaceParts,
  "planOptions" | "pid" | "now" | "clock" | "random"
> {
  return {
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    pid: process.pid,
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
    isAlive,
    worksOn: (pid, jobId) => worksOn(storage, pid, jobId),
    signal: (pid, signal) => void process.kill(pid, signal),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}
