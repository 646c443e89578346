import type { PatchCommand } from "../../domain/patch/command.ts";
import { executionSummary } from "../../domain/patch/execution-summary.ts";
import type { ParseFailure } from "../../domain/patch/parse-error.ts";
import { parsePatch } from "../../domain/patch/parse-patch.ts";
import type { CommandResult, PatchExecutionResult } from "../../domain/patch/result.ts";
import type { JobOutcome } from "../ports/jobs.ts";
import type { JobEvent } from "../ports/journal.ts";
import { LOG } from "../ports/logger.ts";
import type {
  Begun,
  Conflict,
  Evicted,
  Sealed,
  SwapOutcome,
  Transaction,
  TransactionKind,
} from "../ports/transaction.ts";
import { type AutoCommit, autoCommit } from "./auto-commit.ts";
import { jobEnvironment } from "./environment.ts";
import { newJobId } from "./job-id.ts";
import { runCommands } from "./run-commands.ts";
import type { WorkerParts } from "./worker-parts.ts";

export interface ExecuteRequest {
  readonly patch: string;
  /** The coder's plan; its first line titles the job. */
  readonly plan?: string;
  readonly groupId?: string;
  readonly source: string;
  readonly dryRun: boolean;
  readonly preview: boolean;
  readonly atomic: boolean;
  readonly stopOnError: boolean;
  readonly autoCommit: boolean;
  readonly signal: AbortSignal;
  /** Progress for a person who is watching. */
  readonly onEvent?: (event: JobEvent) => void;
  readonly onOutput?: (text: string) => void;
}

export type Execution =
  | { readonly status: "parse-error"; readonly failure: ParseFailure }
  | {
      readonly status: "refused";
      readonly refusal: Exclude<Begun, { ok: true }>["refusal"] | AutoCommitRefusal;
    }
  | {
      readonly status: "ran";
      readonly outcome: JobOutcome | "dry-run";
      readonly kind: TransactionKind;
      readonly result: PatchExecutionResult;
      readonly warnings: readonly string[];
      readonly conflicts: readonly Conflict[];
      readonly evicted: readonly Evicted[];
      /** Background processes that ended with the job. */
      readonly ended: readonly string[];
      readonly shellRan: boolean;
      readonly outside: readonly string[];
    };

export interface AutoCommitRefusal {
  readonly code: "auto-commit";
  readonly cause: Exclude<AutoCommit, { ok: true }>["code"];
  readonly message: string;
}

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

/** One job from its open view to its end. */
class JobRun {
  readonly #parts: WorkerParts;
  readonly #notes: string[] = [];
  readonly #createdAt: Date;
  readonly #env: Record<string, string>;

  constructor(
    parts: WorkerParts,
    readonly request: ExecuteRequest,
    readonly jobId: string,
    readonly commands: readonly PatchCommand[],
    readonly warnings: readonly string[],
    readonly transaction: Transaction,
  ) {
    this.#parts = parts;
    this.#createdAt = parts.now();
    this.#env = jobEnvironment({
      host: parts.hostEnv,
      pass: parts.config.env_pass,
      view: transaction.environment,
    });
  }

  async run(): Promise<Execution> {
    const { request, transaction, jobId, commands } = this;
    this.emit({
      type: "job_started",
      workspace: this.#parts.workspace,
      kind: transaction.kind,
      commands: commands.length,
    });
    try {
      if (request.autoCommit) {
        const before = await this.commitMoment("before");
        if (!before.ok) {
          await transaction.discard();
          await this.#parts.transactions.discard(jobId);
          return {
            status: "refused",
            refusal: { code: "auto-commit", cause: before.code, message: before.error },
          };
        }
      }
      const results = await runCommands(
        {
          ...this.processParts(),
          processes: this.#parts.processes,
          planOptions: this.#parts.planOptions,
          stopOnError: request.stopOnError,
          commandTimeoutSeconds: this.#parts.config.command_timeout,
          gitTimeoutSeconds: this.#parts.config.git_timeout,
          mask: this.#parts.mask,
          clock: this.#parts.clock,
          emit: (event) => this.emit(event),
        },
        commands,
      );
      return await this.finish(results);
    } catch (error) {
      await this.endProcesses();
      await this.#parts.transactions.discard(jobId);
      throw error;
    }
  }

  private async finish(results: readonly CommandResult[]): Promise<Execution> {
    const { request, jobId, transaction } = this;
    const executed = results.filter(({ success }) => success).length;
    const failedCmds = results.length - executed;
    const aborted = request.signal.aborted;
    const rollsBack =
      aborted || (failedCmds > 0 && (request.atomic || (request.autoCommit && request.stopOnError)));
    let gitCommit: string | null = null;
    if (request.autoCommit && executed > 0 && !rollsBack) {
      const after = await this.commitMoment("after");
      if (after.ok) gitCommit = after.commit;
      else this.#notes.push(this.#parts.messages.autoCommitFailed(after.error));
    }
    const ended = await this.endProcesses();
    if (rollsBack) {
      await this.#parts.transactions.discard(jobId);
      const failure = results.find(({ success }) => !success);
      this.emit({ type: "rolled_back", reason: aborted ? "aborted" : (failure?.error ?? "") });
      return this.conclude(
        aborted ? "aborted" : "rolled-back",
        results,
        null,
        { changes: [], outside: [], notes: [] },
        ended,
        null,
      );
    }
    const sealed = await transaction.seal();
    this.#notes.push(...sealed.notes);
    if (request.preview) {
      await this.#parts.transactions.stage(jobId);
      this.emit({ type: "staged", changes: sealed.changes.length });
      return this.conclude("staged", results, gitCommit, sealed, ended, null);
    }
    const swapped = await this.#parts.transactions.commit(jobId);
    const done = swapped.status === "done";
    if (done) this.emit({ type: "committed", changes: sealed.changes.length });
    else this.emit({ type: "conflict", paths: conflictsOf(swapped).map(({ path }) => path) });
    return this.conclude(
      done ? "committed" : "conflict",
      results,
      done ? gitCommit : null,
      sealed,
      ended,
      swapped,
    );
  }

  private async conclude(
    outcome: JobOutcome,
    results: readonly CommandResult[],
    gitCommit: string | null,
    sealed: Sealed,
    ended: readonly string[],
    swapped: SwapOutcome | null,
  ): Promise<Execution> {
    const { jobId, request, transaction, commands } = this;
    const { transactions, archive, config, messages, logger } = this.#parts;
    const executedCmds = results.filter(({ success }) => success).length;
    const failedCmds = results.length - executedCmds;
    const success =
      failedCmds === 0 &&
      results.length === commands.length &&
      (outcome === "committed" || outcome === "staged");
    const summary = messages.summary({ total: commands.length, succeeded: executedCmds, failed: failedCmds });
    const undoable = outcome === "committed" && transaction.kind !== "none";
    const result: PatchExecutionResult = {
      jobId,
      success,
      executedCmds,
      failedCmds,
      results,
      summary,
      ...(gitCommit !== null && { gitCommit }),
      changes: sealed.changes,
      undo: undoable
        ? sealed.changes.length > 0
          ? "available"
          : "none"
        : transaction.kind === "none"
          ? "unavailable"
          : "none",
      dryRun: false,
      notes: this.#notes,
    };
    archive.save({
      jobId,
      groupId: request.groupId ?? jobId.replace("job_", "group_"),
      workspace: this.#parts.workspace,
      source: request.source,
      title: this.#parts.mask(titleOf(request)),
      createdAt: this.#createdAt.toISOString(),
      finishedAt: this.#parts.now().toISOString(),
      kind: transaction.kind,
      outcome,
      success,
      totalCmds: commands.length,
      executedCmds,
      failedCmds,
      ...(gitCommit !== null && { gitCommit }),
      changes: sealed.changes,
      notes: this.#notes,
    });
    const evicted =
      undoable || outcome === "staged" ? await transactions.enforceQuota(config.undo_quota, jobId) : [];
    const fields = {
      job_id: jobId,
      success,
      executed_cmds: executedCmds,
      failed_cmds: failedCmds,
      summary,
      outcome,
    };
    if (success) logger.info("worker", ...LOG.executionCompleted, fields);
    else logger.error("worker", ...LOG.executionFailed, fields);
    const shellRan = results.some(({ command }) => command.type === "shell_command");
    const conflicts = swapped === null ? [] : conflictsOf(swapped);
    return {
      status: "ran",
      outcome,
      kind: transaction.kind,
      result,
      warnings: this.warnings,
      conflicts,
      evicted,
      ended,
      shellRan,
      outside: sealed.outside,
    };
  }

  private emit(event: JobEvent): void {
    this.#parts.archive.append(this.jobId, event);
    this.request.onEvent?.(event);
    if (event.type !== "command_finished") return;
    const command = this.commands[event.index] as PatchCommand;
    const fields = {
      job_id: this.jobId,
      command_index: event.index,
      type: command.type,
      action: command.action,
      target: command.target,
    };
    if (event.success) this.#parts.logger.info("worker", ...LOG.commandExecuted, fields);
    else this.#parts.logger.error("worker", ...LOG.commandFailed, { ...fields, error: event.error });
  }

  private processParts() {
    const { policy, config } = this.#parts;
    const { transaction, jobId, request } = this;
    const onOutput = request.onOutput ?? (() => {});
    return {
      transaction,
      policy,
      jobId,
      env: this.#env,
      outputLimitBytes: config.output_limit,
      signal: request.signal,
      onOutput,
    };
  }

  private async commitMoment(moment: "before" | "after"): Promise<AutoCommit> {
    const { config, processes, logger } = this.#parts;
    const title = moment === "before" ? "Before patch" : `After patch: ${titleOf(this.request)}`;
    const commit = await autoCommit(
      {
        ...this.processParts(),
        processes: await processes(),
        timeoutSeconds: config.git_timeout,
        protectedPatterns: config.protected_patterns,
        runHooks: config.run_hooks,
      },
      `${config.commit_message_prefix} ${title}`,
    );
    this.emit({
      type: "auto_commit",
      moment,
      commit: commit.ok ? commit.commit : null,
      ...(!commit.ok && { error: commit.error }),
    });
    if (commit.ok) {
      this.#notes.push(...commit.notes);
      if (commit.commit !== null)
        logger.info("worker", ...LOG.autoCommitSuccess, {
          job_id: this.jobId,
          moment,
          commit: commit.commit,
        });
    } else
      logger.warn("worker", ...LOG.autoCommitFailed, { job_id: this.jobId, moment, error: commit.error });
    this.transaction.takeChanges({ processRan: true });
    return commit;
  }

  /** Everything dies with its job; a server that ran in it is named. */
  private async endProcesses(): Promise<readonly string[]> {
    if (this.transaction.directory === null) return [];
    const killed = await (await this.#parts.processes()).killJobProcesses(this.jobId);
    return killed.map(({ command }) => command);
  }
}

function conflictsOf(outcome: SwapOutcome): readonly Conflict[] {
  if (outcome.status === "conflict") return outcome.conflicts;
  return outcome.status === "refused" ? [{ path: ".", reason: "changed", by: outcome.reason }] : [];
}

const TITLE_CHARACTERS = 50;

function titleOf({ plan, patch }: ExecuteRequest): string {
  const text = plan !== undefined && plan.trim() !== "" ? plan : patch;
  const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
  return [...line].slice(0, TITLE_CHARACTERS).join("");
}
