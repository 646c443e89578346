import type { PatchCommand } from "../../domain/patch/command.ts";
import { executionSummary } from "../../domain/patch/execution-summary.ts";
import type { CommandResult, PatchExecutionResult } from "../../domain/patch/result.ts";
import type { JobOutcome, JobRecord } from "../ports/jobs.ts";
import type { JobEvent } from "../ports/journal.ts";
import { LOG } from "../ports/logger.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Sealed, Transaction } from "../ports/transaction.ts";
import type { AutoCommit } from "./auto-commit.ts";
import { jobEnvironment } from "./environment.ts";
import type { ExecuteRequest, Execution } from "./execution.ts";
import { JobBroken } from "./job-broken.ts";
import { conflictsOf, forJournal, type JobEnd, undoOf } from "./job-end.ts";
import { jobRecord, titleOf } from "./job-record.ts";
import { runCommands } from "./run-commands.ts";
import type { WorkspaceParts } from "./workspace-parts.ts";

/** One job from its open view to its end. */
export class JobRun {
  readonly #parts: WorkspaceParts;
  readonly #notes: string[] = [];
  readonly #createdAt: Date;
  readonly #env: Record<string, string>;

  constructor(
    parts: WorkspaceParts,
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
    const { request, transaction, commands } = this;
    const counts = executionSummary(commands);
    try {
      request.onStart?.(this.jobId);
      this.announceKind();
      // A job of edits alone is over before anybody could ask for it.
      if (transaction.kind !== "direct") this.#parts.archive.save(this.record("running", [], [], null));
      this.emit({
        type: "job_started",
        workspace: this.#parts.root,
        kind: transaction.kind,
        commands: commands.length,
        file_edits: counts.fileEdits,
        shell_commands: counts.shellCommands,
        git_operations: counts.gitOperations,
      });
      if (request.autoCommit) {
        const before = await this.commitMoment("before");
        if (!before.ok && !request.signal.aborted) return await this.refuse(before);
      }
      const results = await runCommands(
        {
          ...this.processParts(),
          processes: () => this.processes(),
          planOptions: this.#parts.planOptions,
          stopOnError: request.stopOnError,
          commandTimeoutSeconds: request.commandTimeoutSeconds ?? this.#parts.config.command_timeout,
          gitTimeoutSeconds: this.#parts.config.git_timeout,
          limits: this.#parts.config.limits,
          mask: this.#parts.mask,
          clock: this.#parts.clock,
          emit: (event) => this.emit(event),
        },
        commands,
      );
      return await this.finish(results);
    } catch (error) {
      await this.endProcesses();
      throw await this.broken(error);
    }
  }

  /** The before-commit failed: nothing ran, and nothing is remembered of the job but its journal. */
  private async refuse(before: Exclude<AutoCommit, { ok: true }>): Promise<Execution> {
    await this.transaction.discard();
    await this.#parts.transactions.discard(this.jobId);
    this.#parts.archive.save(this.record("rolled-back", [], [], null));
    return {
      status: "refused",
      refusal: { code: "auto-commit", cause: before.code, message: before.error },
    };
  }

  /** Drops what the job had staged, as far as a broken disk lets it. */
  private async broken(error: unknown): Promise<JobBroken> {
    try {
      await this.transaction.discard();
      await this.#parts.transactions.discard(this.jobId);
      this.#parts.archive.save(this.record("rolled-back", [], [], null));
    } catch {
      // The result names the cause; the rest is for `doctor --repair`.
    }
    const message = error instanceof Error ? error.message : String(error);
    this.#parts.logger.error("worker", ...LOG.executionError, { job_id: this.jobId, error: message });
    return new JobBroken(this.jobId, this.#parts.root, error);
  }

  /** The first job of its kind says how changes are staged here, and why so. */
  private announceKind(): void {
    const { staging, archive, messages, config } = this.#parts;
    const { kind } = this.transaction;
    if (kind === "direct" || !archive.isFirstOf(kind)) return;
    this.#notes.push(messages.transactionKind(kind, staging.reason));
    if (config.confine !== "off" && kind === "copy" && this.transaction.processes === undefined)
      this.#notes.push(messages.notConfined);
  }

  private async finish(ran: readonly CommandResult[]): Promise<Execution> {
    const { request, jobId, transaction } = this;
    const ended = [...(await this.endProcesses())];
    const results = await this.guardedLate(ran);
    const executed = results.filter(({ success }) => success).length;
    const failedCmds = results.length - executed;
    const aborted = request.signal.aborted;
    if (results.some(({ command }) => command.type === "shell_command")) this.noteWhatStays();
    const wantsRollback =
      aborted || (failedCmds > 0 && (request.atomic || (request.autoCommit && request.stopOnError)));
    const rollsBack = wantsRollback && transaction.kind !== "none";
    let gitCommit: string | null = null;
    if (request.autoCommit && executed > 0 && !wantsRollback) {
      const after = await this.commitMoment("after");
      ended.push(...(await this.endProcesses()));
      if (after.ok) gitCommit = after.commit;
      else this.#notes.push(this.#parts.messages.autoCommitFailed(after.error));
    }
    const end: JobEnd = {
      results,
      gitCommit,
      ended,
      sealed: { changes: [], outside: [], notes: [] },
      swapped: null,
      keptAfterFailure: wantsRollback && !rollsBack,
    };
    if (transaction.takeRefused !== undefined) {
      const { networkNotes } = await import("./network-notes.ts");
      for (const text of networkNotes(transaction, this.#parts.messages.locale)) {
        this.#notes.push(text);
        this.emit({ type: "note", text });
      }
    }
    if (rollsBack) {
      await transaction.discard();
      await this.#parts.transactions.discard(jobId);
      const failure = results.find(({ success }) => !success);
      this.emit({ type: "rolled_back", reason: aborted ? "aborted" : (failure?.error ?? "") });
      return this.conclude(aborted ? "aborted" : "rolled-back", end);
    }
    const sealed = await transaction.seal();
    this.#notes.push(...sealed.notes);
    const ending = request.preview ? "staged" : "committed";
    this.#parts.archive.save(this.record(ending, results, sealed.changes, gitCommit));
    if (request.preview) {
      await this.#parts.transactions.stage(jobId);
      this.emit({ type: "staged", changes: sealed.changes.length });
      return this.conclude("staged", { ...end, sealed });
    }
    const swapped = await this.#parts.transactions.commit(jobId);
    const done = swapped.status === "done";
    if (done) this.emit({ type: "committed", changes: sealed.changes.length });
    else this.emit({ type: "conflict", paths: conflictsOf(swapped).map(({ path }) => path) });
    return this.conclude(done ? "committed" : "conflict", {
      ...end,
      sealed,
      swapped,
      gitCommit: done ? gitCommit : null,
    });
  }

  private async guardedLate(ran: readonly CommandResult[]): Promise<readonly CommandResult[]> {
    if (ran.every(({ command }) => command.type === "file_edit")) return ran;
    const { policy, planOptions, messages } = this.#parts;
    const { guardLate } = await import("./guard-late.ts");
    const parts = {
      transaction: this.transaction,
      protection: policy.protection,
      sha1: planOptions.sha1,
      messages,
    };
    const results = guardLate(parts, ran);
    for (const [index, { error }] of results.entries())
      if (error !== ran[index]?.error) this.emit({ type: "note", text: error });
    return results;
  }

  /** What undo cannot reach is named in every result where it may have happened. */
  private noteWhatStays(): void {
    const { messages } = this.#parts;
    this.#notes.push(
      this.transaction.kind === "none"
        ? messages.shellNotUndoable
        : messages.notCovered(["network", "daemons", "other-folders"]),
    );
  }

  private async conclude(outcome: JobOutcome, end: JobEnd): Promise<Execution> {
    const { jobId, transaction, commands } = this;
    const { transactions, archive, config, messages, logger } = this.#parts;
    const { results, sealed, gitCommit, swapped } = end;
    const record = this.record(outcome, results, sealed.changes, gitCommit);
    const { success, executedCmds, failedCmds } = record;
    const result: PatchExecutionResult = {
      jobId,
      success,
      executedCmds,
      failedCmds,
      results,
      summary: messages.summary({ total: commands.length, succeeded: executedCmds, failed: failedCmds }),
      ...(gitCommit !== null && { gitCommit }),
      changes: sealed.changes,
      undo: undoOf(outcome, transaction.kind, sealed),
      dryRun: false,
      notes: this.#notes,
    };
    if (outcome !== "committed" && outcome !== "staged") archive.save(record);
    const keeps = outcome === "staged" || outcome === "committed" || outcome === "conflict";
    const evicted = keeps ? await transactions.enforceQuota(config.undo_quota, jobId) : [];
    const failure = results.find((one) => !one.success);
    const fields = {
      job_id: jobId,
      success,
      executed_cmds: executedCmds,
      failed_cmds: failedCmds,
      summary: result.summary,
      outcome,
      changes: sealed.changes.map(({ path }) => path),
      ...(failure !== undefined && {
        failed_command: `${failure.command.type}:${failure.command.action}`,
        error: failure.error,
      }),
    };
    if (success) logger.info("worker", ...LOG.executionCompleted, fields);
    else logger.error("worker", ...LOG.executionFailed, fields);
    return {
      status: "ran",
      outcome,
      kind: transaction.kind,
      result,
      totalCmds: commands.length,
      warnings: this.warnings,
      conflicts: swapped === null ? [] : conflictsOf(swapped),
      evicted,
      ended: end.ended,
      outside: sealed.outside,
      keptAfterFailure: end.keptAfterFailure,
    };
  }

  private record(
    outcome: JobOutcome,
    results: readonly CommandResult[],
    changes: Sealed["changes"],
    gitCommit: string | null,
  ): JobRecord {
    const { jobId, request, transaction, commands } = this;
    const ended = { outcome, results, changes, gitCommit, notes: [...this.#notes] };
    const begun = { jobId, request, commands: commands.length, kind: transaction.kind, at: this.#createdAt };
    return jobRecord(this.#parts, begun, ended);
  }

  private emit(event: JobEvent): void {
    this.#parts.archive.append(this.jobId, forJournal(event));
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
    if (event.success)
      this.#parts.logger.info("worker", ...LOG.commandExecuted, { ...fields, output: event.output });
    else this.#parts.logger.error("worker", ...LOG.commandFailed, { ...fields, error: event.error });
  }

  private processParts() {
    const { policy, config, messages } = this.#parts;
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
      messages,
    };
  }

  /** A view that is closed off brings its own way to run a process in it. */
  private async processes(): Promise<ProcessRunner> {
    return this.transaction.processes ?? this.#parts.processes();
  }

  private async commitMoment(moment: "before" | "after"): Promise<AutoCommit> {
    const { config, logger } = this.#parts;
    const title = moment === "before" ? "Before patch" : `After patch: ${titleOf(this.request)}`;
    const { autoCommit } = await import("./auto-commit.ts");
    const commit = await autoCommit(
      {
        ...this.processParts(),
        processes: await this.processes(),
        timeoutSeconds: config.git_timeout,
        protection: this.#parts.policy.protection,
        runHooks: config.run_hooks,
      },
      `${config.commit_message_prefix} ${title}`,
    );
    this.emit({
      type: "auto_commit",
      moment,
      commit: commit.ok ? commit.commit : null,
      ...(!commit.ok && { error: this.#parts.mask(commit.error) }),
    });
    if (commit.ok) {
      for (const note of commit.notes.map((name) => this.#parts.messages[name]))
        if (!this.#notes.includes(note)) this.#notes.push(note);
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
    const killed = await (await this.processes()).killJobProcesses(this.jobId);
    return killed.map(({ command }) => command);
  }
}
