import {
  type JobResult,
  newJobId,
  type RanJob,
  refuseJob,
  refusePatch,
  type SettingRefusal,
  succeededResult,
  toRanJob,
} from "../../domain/jobs/result.ts";
import {
  executionSummary,
  maskCommand,
  type ParseResult,
  type PatchCommand,
  tryJsonPatch,
} from "../../domain/patch/patch-command.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import { giveWay } from "../platform/give-way.ts";
import type { DraftRequest, OpenedDraft } from "../ports/jobs-draft.ts";
import type { ExecuteRequest, Workspace, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import { jobGroupId } from "./conclude-job.ts";
import { repairNotes } from "./job-facts.ts";
import { openJob } from "./job-run.ts";
import type { JudgeMerge } from "./undo-by-merge.ts";
import type { StopJobDeps } from "./unfinished-jobs.ts";

/** A configured setting that this machine cannot provide. Fails closed: nothing runs. */
export function settingRefusal(
  { config, staging }: Pick<WorkspaceDeps, "config" | "staging">,
  { preview, startedBy }: Pick<ExecuteRequest, "preview" | "startedBy">,
): SettingRefusal | null {
  if (config.confine === "on" && !staging.confinable)
    return { code: "confinement", message: "worker.confine is on, but commands cannot be confined here" };
  const { mode } = config.network;
  if (mode !== "on" && !staging.confinable) return { code: "network", message: mode };
  if (startedBy === "model" && config.model_network.mode === "off" && !staging.confinable)
    return { code: "network", message: "off", setting: "worker.model_network" };
  if (preview && staging.kind === "none")
    return { code: "preview", message: "worker.transaction is none: there is no preview of commands" };
  return null;
}

/** Whether commands run over the result of every job, which has to be staged for them. */
export function asksHooks(
  { hooks }: Pick<WorkspaceDeps, "hooks">,
  { preview }: { readonly preview: boolean },
) {
  return !preview && hooks !== undefined && hooks.before_landing.length > 0;
}

/** The other formats are loaded when a patch is in one of them. */
export async function parseCommands(patch: string): Promise<ParseResult> {
  const tried = tryJsonPatch(patch);
  return tried.result ?? (await import("../../domain/patch/parse-patch.ts")).parseAfterJson(tried);
}

/**
 * A patch, carried out as one job:
 *   parse → choose how to stage → open the view → (commit before) → commands → (commit after)
 *   → end what still runs → seal → commit, keep as preview, or roll back → remember
 */
export async function executePatch(deps: WorkspaceDeps, request: ExecuteRequest): Promise<JobResult> {
  const parsed = request.parsed ?? (await parseCommands(request.patch));
  const { logger } = deps;
  if (!parsed.ok) {
    logger.error("worker", ...LOG.executionError, { error: parsed.failure.message });
    return refusePatch(deps.root, parsed.failure);
  }
  const { commands, warnings } = parsed;
  const jobId = newJobId(deps.now(), deps.random);
  const counts = executionSummary(commands);
  logParsedPatch(deps, { jobId, format: parsed.format, commands });
  if (request.dryRun) return dryRun(deps, request, jobId, commands, warnings);

  const runsProcesses =
    counts.shellCommands + counts.gitOperations > 0 || request.autoCommit || asksHooks(deps, request);
  const kind = runsProcesses ? deps.staging.kind : "direct";
  logPatchStart(deps, {
    jobId,
    sessionKey: request.sessionKey ?? request.source,
    patch: request.patch,
    commands,
    kind,
  });
  const setting = runsProcesses ? settingRefusal(deps, request) : null;
  const opened =
    setting !== null
      ? ({ ok: false, refusal: setting } as const)
      : await openJob(
          deps,
          {
            jobId,
            kind,
            startedBy: request.startedBy,
            network: !request.preview || request.allowNetwork === true,
            preview: request.preview,
          },
          request,
        );
  if (!opened.ok) {
    const { code, message } = opened.refusal;
    logger.error("worker", ...LOG.executionError, { job_id: jobId, code, error: message });
    return refuseJob(deps.root, opened.refusal);
  }
  opened.job.note(repairNotes(opened.repaired));
  opened.job.noteSkipped(parsed.skipped ?? []);
  return opened.job.run(commands, warnings);
}

interface LoggedPatch {
  readonly jobId: string;
  /** Absent for commands that no text was read for. */
  readonly format?: string | undefined;
  readonly commands: readonly PatchCommand[];
}

/** The first log lines of every patch: its format and its commands. */
export function logParsedPatch(
  { logger, config }: Pick<WorkspaceDeps, "logger" | "config">,
  { jobId, format, commands }: LoggedPatch,
): void {
  logger.info("worker", ...LOG.patchParse, { job_id: jobId, format, commands: commands.length });
  if (!config.show_execution_summary) return;
  const { totalCommands, fileEdits, shellCommands, gitOperations } = executionSummary(commands);
  logger.info("worker", ...LOG.executionSummary, {
    job_id: jobId,
    total_commands: totalCommands,
    file_edits: fileEdits,
    shell_commands: shellCommands,
    git_operations: gitOperations,
  });
}

export function logPatchStart(
  { logger, staging }: Pick<WorkspaceDeps, "logger" | "staging">,
  about: LoggedPatch & { readonly sessionKey: string; readonly patch: string; readonly kind: string },
): void {
  logger.info("worker", ...LOG.executionStart, {
    job_id: about.jobId,
    session_key: about.sessionKey,
    patch: about.patch,
    patch_commands: about.commands.length,
    kind: about.kind,
    reason: about.kind === "direct" ? "file-edits-only" : staging.reason,
  });
}

const TOLD_IN_ONE_GO = 500;

async function dryRun(
  deps: WorkspaceDeps,
  request: ExecuteRequest,
  jobId: string,
  commands: readonly PatchCommand[],
  warnings: readonly string[],
): Promise<RanJob> {
  for (const [index, { type, action, target }] of commands.entries()) {
    deps.logger.info("worker", "worker.dry_run", "worker.dry_run", {
      command_index: index,
      type,
      action,
      target,
    });
    if (index % TOLD_IN_ONE_GO === TOLD_IN_ONE_GO - 1) await giveWay();
  }
  const previewed = commands.map((command) => succeededResult(maskCommand(command, deps.mask)));
  return toRanJob({
    jobId,
    groupId: jobGroupId(request, jobId),
    workspace: deps.root,
    kind: "direct",
    outcome: "dry-run",
    success: true,
    totalCmds: commands.length,
    executedCmds: 0,
    commands: previewed,
    changes: [],
    quotaBytes: deps.config.undo_quota,
    warnings,
  });
}

export interface WorkspaceBacking extends Pick<StopJobDeps, "worksOn" | "signal" | "pause"> {
  readonly deps: WorkspaceDeps;
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
