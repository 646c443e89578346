import type { StoredJob } from "../ports/jobs.ts";
import { LOG } from "../ports/logger.ts";
import type { Conflict } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

export type PreviewCommit =
  | { readonly status: "done"; readonly job: StoredJob }
  | { readonly status: "unknown" }
  /** It is no preview, or no longer: committed, taken back, thrown away, evicted. */
  | { readonly status: "not-a-preview"; readonly job: StoredJob }
  | { readonly status: "busy" }
  | { readonly status: "conflict"; readonly job: StoredJob; readonly conflicts: readonly Conflict[] };

/** Commits exactly what a preview staged; nothing is run again. */
export async function commitPreview(
  {
    transactions,
    archive,
    logger,
    mayCommit,
  }: Pick<WorkspaceDeps, "transactions" | "archive" | "logger" | "mayCommit">,
  jobId: string,
): Promise<PreviewCommit> {
  const job = archive.list().find((one) => one.jobId === jobId) ?? null;
  if (job === null) return { status: "unknown" };
  if (job.state !== "staged") return { status: "not-a-preview", job };
  const may = async () => (await mayCommit?.(new AbortController().signal)) ?? true;
  const swapped = await transactions.commit(jobId, { may });
  switch (swapped.status) {
    case "late":
      return { status: "busy" };
    case "conflict":
      archive.append(jobId, { type: "conflict", paths: swapped.conflicts.map(({ path }) => path) });
      return { status: "conflict", job, conflicts: swapped.conflicts };
    case "refused":
      return swapped.reason === "busy" ? { status: "busy" } : { status: "not-a-preview", job };
    case "done": {
      const {
        state: _,
        stateAt: __,
        bytes: ___,
        unsettled: ____,
        interruptions: _____,
        standsRepaired: ______,
        ...record
      } = job;
      const success = record.executedCmds === record.totalCmds;
      archive.save({ ...record, outcome: "committed", success });
      archive.append(jobId, { type: "committed", changes: swapped.changes.length });
      logger.info("worker", ...LOG.executionCompleted, { job_id: jobId, success, outcome: "committed" });
      return { status: "done", job: archive.read(jobId) ?? job };
    }
  }
}
