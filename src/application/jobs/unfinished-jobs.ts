import { countFiles, isHookRefusal, type NoteFact, PROCESS_DIED } from "../../domain/jobs/result.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import type { JobArchive, JobEvent, StoredJob } from "../ports/jobs.ts";
import type { PreviewCommit, PreviewDiscard, StopJobResult, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import { readAgentId, toJobRecord } from "./job-facts.ts";

type LandedDeps = Pick<
  WorkspaceDeps,
  "archive" | "messages" | "hooks" | "root" | "hostEnv" | "config" | "processes" | "mask"
>;

/** Commits exactly the staged changes of a preview; no command runs again. The hooks after a landing run. */
export async function commitPreview(
  deps: LandedDeps & Pick<WorkspaceDeps, "transactions" | "logger" | "mayCommit">,
  jobId: string,
): Promise<PreviewCommit> {
  const { transactions, archive, logger, mayCommit } = deps;
  const job = archive.list().find((one) => one.jobId === jobId) ?? null;
  if (job === null) return { status: "unknown" };
  if (job.closed !== undefined) return { status: "unusable", reason: "closed", paths: [job.closed] };
  if (job.damaged !== undefined) return { status: "unusable", reason: "damaged", paths: [job.damaged] };
  if (job.state !== "staged") return { status: "not-a-preview", job };
  const may = async () => (await mayCommit?.(new AbortController().signal)) ?? true;
  const swapped = await transactions.commit(jobId, { may });
  switch (swapped.status) {
    case "late":
      return { status: "busy" };
    case "conflict":
      archive.append(jobId, { type: "conflict", paths: swapped.conflicts.map(({ path }) => path) });
      return { status: "conflict", job, conflicts: swapped.conflicts };
    case "refused": {
      const { reason, paths = [] } = swapped;
      if (reason === "busy") return { status: "busy" };
      if (reason === "unknown-job" || reason === "wrong-state" || reason === "evicted")
        return { status: "not-a-preview", job: archive.read(jobId) ?? job };
      return { status: "unusable", reason, paths };
    }
    case "done": {
      // Another process that applied it meanwhile has recorded and reported that.
      if (swapped.already === true) return { status: "not-a-preview", job: archive.read(jobId) ?? job };
      const record = toJobRecord(job);
      const success = record.executedCmds === record.totalCmds;
      // The user decided against the hook that had kept it.
      const notes = record.notes.filter((note) => !isHookRefusal(note));
      const landed = { ...record, notes, outcome: "committed", success } as const;
      archive.save(landed);
      archive.append(jobId, { type: "committed", changes: countFiles(swapped.changes) });
      logger.info("worker", ...LOG.executionCompleted, { job_id: jobId, success, outcome: "committed" });
      const failed = await runLandedHooks(deps, job);
      if (failed.length > 0) archive.save({ ...landed, notes: [...notes, ...failed] });
      return { status: "done", job: archive.read(jobId) ?? job, notes: failed };
    }
  }
}

async function runLandedHooks(deps: LandedDeps, { jobId, changes }: StoredJob): Promise<readonly NoteFact[]> {
  if (changes.length === 0 || (deps.hooks?.after_landing.length ?? 0) === 0) return [];
  const { runHooks } = await import("./hooks.ts");
  const failed = await runHooks(deps, "after_landing", { jobId, changes });
  for (const note of failed)
    deps.archive.append(jobId, { type: "note", text: wordNote(deps.messages, note) });
  return failed;
}

export async function discardPreview(
  { transactions, archive }: Pick<WorkspaceDeps, "transactions" | "archive">,
  jobId: string,
): Promise<PreviewDiscard> {
  const job = archive.read(jobId);
  if (job === null) return { status: "unknown" };
  if (job.state !== "staged" || job.unsettled !== undefined) return { status: "not-a-preview" };
  await transactions.discard(jobId);
  archive.append(jobId, { type: "rolled_back", reason: "discarded" });
  return { status: "done" };
}

/** Discards a job of any process before its commit begins; a later commit is refused. A job of edits alone has only its id yet. */
export async function withdrawJob(
  { transactions, archive }: Pick<WorkspaceDeps, "transactions" | "archive">,
  jobId: string,
): Promise<void> {
  const before = archive.read(jobId)?.state ?? "running";
  if (before !== "running" && before !== "staged") return;
  await transactions.discard(jobId);
  const job = archive.read(jobId);
  if (job?.state !== "discarded") return;
  const reason = "withdrawn";
  archive.append(jobId, { type: "rolled_back", reason });
  archive.save({ ...toJobRecord(job), outcome: "aborted", success: false, changes: [], reason });
}

export interface StopJobDeps {
  readonly archive: Pick<JobArchive, "read" | "append" | "events" | "save">;
  /** Whether exactly that process works on the job; the pid alone may have been reused. */
  readonly worksOn: (pid: number, jobId: string) => boolean;
  readonly signal: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly closeDeadJobs: () => Promise<readonly string[]>;
  readonly pause: (ms: number) => Promise<void>;
  readonly clock: () => number;
}

const GRACE_MS = 10_000;
const POLL_MS = 20;

/** Ends a running job: asks its process to roll back, kills it if it does not, and closes the job. */
export async function stopJob(deps: StopJobDeps, jobId: string): Promise<StopJobResult> {
  const agent = readAgentId(jobId);
  if (agent !== null) return stopAgent(deps, agent);
  const job = deps.archive.read(jobId);
  if (job === null) return { status: "unknown" };
  if (job.state !== "running") return { status: "not-running", state: job.state };
  const { pid } = job;
  const works = () => pid !== undefined && deps.worksOn(pid, jobId);
  const wasAlive = works();
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (pid === undefined || !works()) break;
    deps.signal(pid, signal);
    const deadline = deps.clock() + GRACE_MS;
    while (works() && deps.clock() < deadline) await deps.pause(POLL_MS);
  }
  await deps.closeDeadJobs();
  const end = deps.archive.read(jobId);
  if (wasAlive && end?.reason === PROCESS_DIED) deps.archive.save({ ...toJobRecord(end), reason: "aborted" });
  const state = end?.state ?? "discarded";
  return state === "discarded" ? { status: "stopped" } : { status: "not-running", state };
}

/** Asks the coder of a draft to end one of its sub-agents: its process reads the journal while any of them works. */
async function stopAgent(
  { archive, pause, clock }: StopJobDeps,
  { jobId, number }: NonNullable<ReturnType<typeof readAgentId>>,
): Promise<StopJobResult> {
  const isAbout = (type: JobEvent["type"]) =>
    archive
      .events(jobId)
      .some(({ event }) => event.type === type && "agent" in event && event.agent === number);
  const job = archive.read(jobId);
  if (job === null || !isAbout("agent_started")) return { status: "unknown" };
  const { state } = job;
  if (state !== "running" || isAbout("agent_ended")) return { status: "not-running", state };
  archive.append(jobId, { type: "agent_stop", agent: number });
  const deadline = clock() + GRACE_MS;
  while (!isAbout("agent_ended") && clock() < deadline) await pause(10 * POLL_MS);
  return isAbout("agent_ended") ? { status: "stopped" } : { status: "not-running", state };
}
