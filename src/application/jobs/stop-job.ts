import type { JobArchive } from "../ports/jobs.ts";
import type { JobState } from "../ports/jobs-transaction.ts";

export interface StopJobDeps {
  readonly archive: Pick<JobArchive, "read">;
  /** Whether that very process works on the job; a number alone may belong to somebody else by now. */
  readonly worksOn: (pid: number, jobId: string) => boolean;
  readonly signal: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly closeDeadJobs: () => Promise<readonly string[]>;
  readonly pause: (ms: number) => Promise<void>;
  readonly clock: () => number;
}

export type StopJobResult =
  | { readonly status: "stopped" }
  | { readonly status: "unknown" }
  | { readonly status: "not-running"; readonly state: JobState };

const GRACE_MS = 10_000;
const POLL_MS = 20;

/** Ends a running job: asks its process to take everything back, ends it when it does not, and closes what is left. */
export async function stopJob(parts: StopJobDeps, jobId: string): Promise<StopJobResult> {
  const job = parts.archive.read(jobId);
  if (job === null) return { status: "unknown" };
  if (job.state !== "running") return { status: "not-running", state: job.state };
  const { pid } = job;
  const works = () => pid !== undefined && parts.worksOn(pid, jobId);
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (pid === undefined || !works()) break;
    parts.signal(pid, signal);
    const deadline = parts.clock() + GRACE_MS;
    while (works() && parts.clock() < deadline) await parts.pause(POLL_MS);
  }
  await parts.closeDeadJobs();
  const state = parts.archive.read(jobId)?.state ?? "discarded";
  return state === "discarded" ? { status: "stopped" } : { status: "not-running", state };
}
