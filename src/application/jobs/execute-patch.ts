import type { PatchCommand } from "../../domain/patch/command.ts";
import { executionSummary } from "../../domain/patch/execution-summary.ts";
import type { CommandResult, PatchExecutionResult } from "../../domain/jobs/result.ts";
import { LOG } from "../ports/logger.ts";
import type { BeginResult } from "../ports/jobs-transaction.ts";
import { beginJob, settingRefusal, stagedAs } from "./begin-job.ts";
import type { ExecuteRequest, Execution, SettingRefusal } from "./execution.ts";
import { newJobId } from "./job-id.ts";
import { jobGroupId } from "./conclude-job.ts";
import { JobRun } from "./job-run.ts";
import { maskCommand } from "./mask-command.ts";
import { parseCommands } from "./parse-commands.ts";
import { repairNotes } from "./repair-notes.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

/**
 * A patch, carried out as one job:
 *   parse → choose how to stage → open the view → (commit before) → commands → (commit after)
 *   → end what still runs → seal → commit, keep as preview, or roll back → remember
 */
export async function executePatch(parts: WorkspaceDeps, request: ExecuteRequest): Promise<Execution> {
  const parsed = await parseCommands(request.patch);
  const { logger } = parts;
  if (!parsed.ok) {
    logger.error("worker", ...LOG.executionError, { error: parsed.failure.message });
    return { status: "parse-error", failure: parsed.failure };
  }
  const { commands, warnings } = parsed;
  const jobId = newJobId(parts.now(), parts.random);
  const counts = executionSummary(commands);
  logger.info("worker", ...LOG.patchParse, {
    job_id: jobId,
    format: parsed.format,
    commands: commands.length,
  });
  if (parts.config.show_execution_summary) {
    const { totalCommands, fileEdits, shellCommands, gitOperations } = counts;
    logger.info("worker", ...LOG.executionSummary, {
      job_id: jobId,
      total_commands: totalCommands,
      file_edits: fileEdits,
      shell_commands: shellCommands,
      git_operations: gitOperations,
    });
  }
  if (request.dryRun) return dryRun(parts, request, jobId, commands, warnings);

  const runsProcesses = counts.shellCommands + counts.gitOperations > 0 || request.autoCommit;
  const kind = runsProcesses ? parts.staging.kind : "direct";
  logger.info("worker", ...LOG.executionStart, {
    job_id: jobId,
    session_key: request.sessionKey ?? request.source,
    patch: request.patch,
    patch_commands: commands.length,
    kind,
    reason: runsProcesses ? parts.staging.reason : "file-edits-only",
  });
  const setting = runsProcesses ? settingRefusal(parts, request) : null;
  const begun: BeginResult | { ok: false; refusal: SettingRefusal } =
    setting !== null
      ? { ok: false, refusal: setting }
      : await beginJob(parts, {
          jobId,
          kind,
          network: !request.preview || request.allowNetwork === true,
          preview: request.preview,
        });
  if (!begun.ok) {
    const { code, message } = begun.refusal;
    logger.error("worker", ...LOG.executionError, { job_id: jobId, code, error: message });
    return { status: "refused", refusal: begun.refusal };
  }
  const run = new JobRun(stagedAs(parts, begun), request, jobId, begun.transaction);
  run.note(repairNotes(begun.repaired));
  return run.run(commands, warnings);
}

function dryRun(
  parts: WorkspaceDeps,
  request: ExecuteRequest,
  jobId: string,
  commands: readonly PatchCommand[],
  warnings: readonly string[],
): Execution {
  for (const [index, { type, action, target }] of commands.entries()) {
    parts.logger.info("worker", "worker.dry_run", "worker.dry_run", {
      command_index: index,
      type,
      action,
      target,
    });
  }
  const results = commands.map(
    (command): CommandResult => ({
      command: maskCommand(command, parts.mask),
      success: true,
      output: "",
      error: "",
      duration: 0,
      changes: [],
      notes: [],
    }),
  );
  const result: PatchExecutionResult = {
    jobId,
    success: true,
    executedCmds: 0,
    failedCmds: 0,
    results,
    summary: parts.messages.summary({ total: commands.length, succeeded: 0, failed: 0 }),
    changes: [],
    undo: "none",
    dryRun: true,
    notes: [],
  };
  return {
    status: "ran",
    outcome: "dry-run",
    kind: "direct",
    result,
    totalCmds: commands.length,
    warnings,
    conflicts: [],
    evicted: [],
    quotaBytes: parts.config.undo_quota,
    groupId: jobGroupId(request, jobId),
    ended: [],
    outside: [],
    keptAfterFailure: false,
  };
}
