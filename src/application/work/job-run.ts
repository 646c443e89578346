import type { PatchCommand } from "../../domain/patch/command.ts";
import type { CommandResult, PatchExecutionResult } from "../../domain/patch/result.ts";
import type { JobOutcome } from "../ports/jobs.ts";
import type { JobEvent } from "../ports/journal.ts";
import { LOG } from "../ports/logger.ts";
import type { Conflict, Sealed, SwapOutcome, Transaction } from "../ports/transaction.ts";
import { type AutoCommit, autoCommit } from "./auto-commit.ts";
import { jobEnvironment } from "./environment.ts";
import type { ExecuteRequest, Execution } from "./execution.ts";
import { runCommands } from "./run-commands.ts";
import type { WorkerParts } from "./worker-parts.ts";

/** One job from its open view to its end. */
export class JobRun {
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
