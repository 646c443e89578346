import { wordNote } from "../../domain/texts/jobs-notes.ts";
import type { DraftRequest, OpenedDraft } from "../ports/jobs-draft.ts";
import type { Workspace, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import { executePatch } from "./execute-patch.ts";
import type { JudgeMerge } from "./undo-by-merge.ts";
import type { StopJobDeps } from "./unfinished-jobs.ts";

/** The parts that a folder and a container implement differently. */
export interface WorkspaceBacking extends Pick<StopJobDeps, "worksOn" | "signal" | "pause"> {
  readonly deps: WorkspaceDeps;
  /** Where its jobs are kept. */
  readonly storage: string;
  readonly files: WorkspaceFiles;
  readonly isAlive: Workspace["isAlive"];
  /** Opens a job that stays open; drafts are built on jobs, so it is given. */
  readonly openDraft: (deps: WorkspaceDeps, request: DraftRequest) => Promise<OpenedDraft>;
  /** Absent if merged undos are not judged. */
  readonly judgeMerge?: JudgeMerge | undefined;
}

/** The jobs over a workspace's parts. Parts that a first job does not need are loaded when called. */
export function createWorkspace({
  deps,
  storage,
  files,
  isAlive,
  openDraft,
  judgeMerge: judge,
  ...processes
}: WorkspaceBacking): Workspace {
  const { root, config, policy, archive, staging, transactions, mask, clock } = deps;
  const closeDeadJobs = async () => (await import("./dead-jobs.ts")).closeDeadJobs({ ...deps, isAlive });
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
      executePatch(deps, {
        ...request,
        dryRun: request.dryRun ?? config.dry_run,
        preview: request.preview ?? false,
        atomic: request.atomic ?? false,
        stopOnError: request.stopOnError ?? config.stop_on_error,
        autoCommit: request.autoCommit ?? config.auto_commit,
      }),
    begin: (request) => transactions.begin(request),
    openDraft: (request) => openDraft(deps, request),
    commitPreview: async (jobId) => (await import("./unfinished-jobs.ts")).commitPreview(deps, jobId),
    discardPreview: async (jobId) => (await import("./unfinished-jobs.ts")).discardPreview(deps, jobId),
    withdraw: async (jobId) => (await import("./unfinished-jobs.ts")).withdrawJob(deps, jobId),
    takeBack: async (request) =>
      (await import("./undo-job.ts")).takeBack(
        {
          ...deps,
          mergeJob: async (job, direction) =>
            (await import("./undo-by-merge.ts")).mergeJob({ ...deps, judge }, job, direction),
        },
        request,
      ),
    stop: async (jobId) =>
      (await import("./unfinished-jobs.ts")).stopJob({ archive, closeDeadJobs, clock, ...processes }, jobId),
    afterMessage: async (variables) => {
      if (deps.hooks === undefined || deps.hooks.after_message.length === 0) return [];
      const { runHooks } = await import("./hooks.ts");
      const failed = await runHooks(deps, "after_message", { variables });
      for (const note of failed)
        deps.logger.error("worker", "worker.hook_failed", "worker.hook_failed", {
          error: wordNote(deps.messages, note),
        });
      return failed;
    },
    repair: (halted) => transactions.repair(halted),
    repairRecords: async () => (await transactions.repairRecords?.()) ?? [],
    findDamagedUndo: async (options) => (await transactions.findDamagedUndo?.(options)) ?? [],
    findInterruption: async () => (await transactions.findInterruption?.()) ?? null,
    closeDeadJobs,
  };
}
