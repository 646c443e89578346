import type { PatchCommand } from "../../domain/patch/command.ts";
import { executionSummary } from "../../domain/patch/execution-summary.ts";
import { parsePatch } from "../../domain/patch/parse-patch.ts";
import type { CommandResult, PatchExecutionResult } from "../../domain/patch/result.ts";
import { LOG } from "../ports/logger.ts";
import type { ExecuteRequest, Execution } from "./execution.ts";
import { newJobId } from "./job-id.ts";
import { JobRun } from "./job-run.ts";
import type { WorkerParts } from "./worker-parts.ts";

/**
 * A patch, carried out as one job:
 *   parse → choose how to stage → open the view → (commit before) → commands → (commit after)
 *   → end what still runs → seal → commit, keep as preview, or roll back → remember
 */
export async function executePatch(parts: WorkerParts, request: ExecuteRequest): Promise<Execution> {
  const parsed = parsePatch(request.patch);
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
  if (request.dryRun) return dryRun(parts, jobId, commands, warnings);

  const runsProcesses = counts.shellCommands + counts.gitOperations > 0 || request.autoCommit;
  const kind = runsProcesses ? parts.shellKind : "direct";
  logger.info("worker", ...LOG.executionStart, {
    job_id: jobId,
    patch: request.patch.slice(0, 4000),
    patch_commands: commands.length,
    kind,
  });
  const begun = await parts.transactions.begin({ jobId, kind });
  if (!begun.ok) return { status: "refused", refusal: begun.refusal };
  return new JobRun(parts, request, jobId, commands, warnings, begun.transaction).run();
}

function dryRun(
  parts: WorkerParts,
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
      command,
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
    warnings,
    conflicts: [],
    evicted: [],
    ended: [],
    shellRan: false,
    outside: [],
  };
}
