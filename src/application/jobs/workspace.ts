import type { DraftRequest, OpenedDraft } from "../ports/jobs-draft.ts";
import type { WorkspaceFiles } from "../ports/jobs-transaction.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { executePatch } from "./execute-patch.ts";
import type { WorkspaceDeps } from "./execution.ts";
import type { JudgeMerge } from "./undo-by-merge.ts";
import { wordNote } from "./word-notes.ts";

/** The parts that a folder and a container implement differently. */
export interface WorkspaceBacking {
  readonly parts: WorkspaceDeps;
  /** Where its jobs are kept. */
  readonly storage: string;
  readonly files: WorkspaceFiles;
  readonly isAlive: Workspace["isAlive"];
  /** Whether that very process works on the job; a number alone may belong to somebody else by now. */
  readonly worksOn: (pid: number, jobId: string) => boolean;
  readonly signal: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Opens a job that stays open; drafts are built on jobs, so it is given. */
  readonly openDraft: (parts: WorkspaceDeps, request: DraftRequest) => Promise<OpenedDraft>;
  /** Absent where nobody judges what an undo has to merge. */
  readonly judgeMerge?: JudgeMerge | undefined;
}

/** The jobs over a workspace's parts. Parts that a first job does not need are loaded when called. */
export function createWorkspace({
  parts,
  storage,
  files,
  isAlive,
  openDraft,
  judgeMerge: judge,
  ...processes
}: WorkspaceBacking): Workspace {
  const { root, config, policy, archive, staging, transactions, mask, clock } = parts;
  const closeDeadJobs = async () => (await import("./dead-jobs.ts")).closeDeadJobs({ ...parts, isAlive });
  return {
    root,
    rootNames: policy.rootNames,
    storage,
    files,
    protection: policy.protection,
    archive,
    staging,
    mask,
    isAlive,
    execute: (request) =>
      executePatch(parts, {
        ...request,
        dryRun: request.dryRun ?? config.dry_run,
        preview: request.preview ?? false,
        atomic: request.atomic ?? false,
        stopOnError: request.stopOnError ?? config.stop_on_error,
        autoCommit: request.autoCommit ?? config.auto_commit,
      }),
    begin: (request) => transactions.begin(request),
    openDraft: (request) => openDraft(parts, request),
    commitPreview: async (jobId) => (await import("./unfinished-jobs.ts")).commitPreview(parts, jobId),
    discardPreview: async (jobId) => (await import("./unfinished-jobs.ts")).discardPreview(parts, jobId),
    withdraw: async (jobId) => (await import("./unfinished-jobs.ts")).withdrawJob(parts, jobId),
    takeBack: async (request) =>
      (await import("./undo-job.ts")).takeBack(
        {
          ...parts,
          mergeJob: async (job, direction) =>
            (await import("./undo-by-merge.ts")).mergeJob({ ...parts, judge }, job, direction),
        },
        request,
      ),
    stop: async (jobId) =>
      (await import("./unfinished-jobs.ts")).stopJob({ archive, closeDeadJobs, clock, ...processes }, jobId),
    afterMessage: async (variables) => {
      if (parts.hooks === undefined || parts.hooks.after_message.length === 0) return [];
      const { runHooks } = await import("./hooks.ts");
      const failed = await runHooks(parts, "after_message", { variables });
      for (const note of failed)
        parts.logger.error("worker", "worker.hook_failed", "worker.hook_failed", {
          error: wordNote(parts.messages, note),
        });
      return failed;
    },
    repair: () => transactions.repair(),
    mendRecords: async () => (await transactions.mendRecords?.()) ?? [],
    findDamagedUndo: async (options) => (await transactions.findDamagedUndo?.(options)) ?? [],
    findInterruption: async () => (await transactions.findInterruption?.()) ?? null,
    closeDeadJobs,
  };
}
