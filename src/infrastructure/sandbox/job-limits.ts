import { writeFileSync } from "node:fs";
import type { ProcessRequest } from "../../application/ports/platform-processes.ts";
import { succeeds } from "../../domain/platform/error-text.ts";
import { limitResource } from "../platform/process-calls.ts";

/** The limits of a job's processes; 0 means unlimited. Sizes in bytes. */
export interface JobLimits {
  readonly memory: number;
  readonly fileSize: number;
  readonly openFiles: number;
  readonly processes: number;
  readonly disk: number;
}

/** For the executor, before it hides (its files in /proc are root's then) and before anything runs. The disk is watched from outside. */
export function limitThisProcess(
  { fileSize, openFiles, processes }: JobLimits,
  { spare, beside }: ProcessAllowance,
): void {
  const own = { fileSize, openFiles, processes: processes > 0 ? processes + spare + beside : 0 };
  for (const [resource, most] of Object.entries(own))
    if (most > 0) limitResource(resource as "fileSize" | "openFiles" | "processes", most);
  // A file that grows too large is an error of the write, not the end of the executor.
  if (fileSize > 0) process.on("SIGXFSZ", () => {});
  // Else the kernel chooses by size alone.
  succeeds(() => writeFileSync("/proc/self/oom_score_adj", OOM_SCORE));
}

/** Processes that count beside those of the commands. */
export interface ProcessAllowance {
  /** For the executor: its runtime starts threads when it needs them, and ends where it cannot. */
  readonly spare: number;
  /** Of the user, where the kernel counts them among the job's. */
  readonly beside: number;
}

/** From here on the executor sets the limit as a soft one: a shell that sets it costs a millisecond for each command. */
export const MANY_PROCESSES = 1024;

/** When memory runs out, the kernel ends a job before the user's programs. */
const OOM_SCORE = "500";

/**
 * The executor's own runtime takes more address space than a limit of memory would leave it, so that one is laid on
 * each command as it starts, and the limit of processes with it. Data is what counts: address space alone
 * (`ulimit -v`) is what node and Java reserve.
 */
export function withLimits(
  argv: ProcessRequest["argv"],
  { memory, processes }: Pick<JobLimits, "memory" | "processes">,
): ProcessRequest["argv"] {
  const steps = [
    ...(memory > 0 ? [`ulimit -d ${Math.max(1, Math.floor(memory / 1024))}`] : []),
    // Shells disagree about the letter.
    ...(processes > 0 ? [`{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; }`] : []),
  ];
  if (steps.length === 0) return argv;
  return ["/bin/sh", "-c", [...steps, 'exec "$@"'].join(" && "), "picoclaw", ...argv];
}

/** Where programs in a sandbox find the proxy. The loopback is the sandbox's own, so the port is free. */
export const PROXY_PORT = 3128;
