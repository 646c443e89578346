import {
  type Change,
  type CommandResult,
  countFiles,
  type FailureReason,
  isSameNote,
  type JobOutcome,
  type JobResult,
  maskNote,
  type Note,
  type NoteFact,
  type RanJob,
  type RedReason,
  type RefusedJob,
  refuseJob,
  SKIPPED,
  sealNote,
} from "../../domain/jobs/result.ts";
import {
  type EarlierStates,
  executionSummary,
  maskCommand,
  type PatchCommand,
  type SkippedPart,
} from "../../domain/patch/patch-command.ts";
import { mayMatterToGit } from "../../domain/policy/git-files.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type { Checked, CheckRequest, MergedNote } from "../ports/jobs-draft.ts";
import type { HeadProcess } from "../ports/jobs-head.ts";
import type {
  BeginRequest,
  BeginResult,
  ReachedHost,
  RepairedJob,
  SealedChanges,
  Transaction,
  Transactions,
  ValidateDifference,
} from "../ports/jobs-transaction.ts";
import { type ExecuteRequest, JobBroken, type WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import { toViewFault, ViewFault } from "../ports/platform-view.ts";
import type { AutoCommitResult } from "./auto-commit.ts";
import {
  concludeJob,
  forJournal,
  isUnstaged,
  isWorkspaceGone,
  type JobEnd,
  JobStory,
  swapConflicts,
  wantsRollback,
} from "./conclude-job.ts";
import { PolicyFault } from "./edit-policy.ts";
import { type CommandOutcome, failedOutcome, runFileEdit } from "./file-edit.ts";
import type { GuardDeps } from "./guard-changes.ts";
import { endReason, nameJobId } from "./job-facts.ts";
import { JobProcesses, type RunningJob, type RunOptions } from "./job-processes.ts";
import type { RunCommandsDeps } from "./run-shell.ts";

/** No such path was reported; one that exists nevertheless is not committed. */
const dropGitPaths: ValidateDifference = ({ changes }) => ({
  drop: changes.map(({ path }) => path).filter(mayMatterToGit),
  rewrite: new Map(),
});

/** The first job of a kind reports how changes are staged here, and why. */
function kindNotes(
  { staging, archive, config }: WorkspaceDeps,
  { kind, processes, isLimited, foreign = null }: Transaction,
): NoteFact[] {
  const isNews = foreign !== null && archive.isFirstOf(`foreign-${foreign.why}`);
  const notes: NoteFact[] = isNews ? [{ code: "foreign-repository", ...foreign }] : [];
  if (kind === "direct" || !archive.isFirstOf(kind)) return notes;
  // An overlay is the normal case, so it is not reported.
  const isUsual = kind === "overlay" && staging.reason === "overlay-available";
  if (!isUsual) notes.push({ code: "staging", kind, reason: staging.reason });
  if (config.confine !== "off" && kind === "copy" && processes === undefined)
    notes.push({ code: "not-confined" });
  if (isLimited === true) notes.push({ code: "limited" });
  return notes;
}

/** Effects that undo cannot reach are named in every result where they may have happened. */
function notUndoableNote({ kind, undoneByTask }: Transaction): NoteFact {
  if (undoneByTask === true) return { code: "undone-by-task" };
  return kind === "none"
    ? { code: "shell-not-undoable" }
    : { code: "not-covered", what: ["network", "daemons", "other-folders"] };
}

function logCommand(
  { logger }: WorkspaceDeps,
  jobId: string,
  event: Extract<JobEvent, { type: "command_finished" }>,
  { type, action, target }: PatchCommand,
): void {
  const fields = { job_id: jobId, command_index: event.index, type, action, target };
  if (event.success) logger.info("worker", ...LOG.commandExecuted, { ...fields, output: event.output });
  if (event.success && event.output === SKIPPED)
    logger.warn("worker", ...LOG.protectedSkipped, { job_id: jobId, file: target });
  for (const note of event.notes ?? [])
    if (typeof note !== "string" && note.code === "protected-logged")
      for (const file of note.paths) logger.warn("worker", ...LOG.protectedModified, { job_id: jobId, file });
  if (!event.success) logger.error("worker", ...LOG.commandFailed, { ...fields, error: event.error });
}

/** For a command of this many characters or more, the event loop gets control between reading, running and reporting it. */
const LONG_COMMAND = 50_000;
const LONGEST_BREATH_MS = 50;

/**
 * Carries out commands in the order of the patch, in a view. Per command:
 *   1. run it (an edit in process, a shell line or git as a process of the job)
 *   2. record the changes that it really caused
 *   3. after a process, restore what it may not change
 *   4. write to the journal
 */
async function runCommands(
  deps: RunCommandsDeps,
  commands: readonly PatchCommand[],
): Promise<CommandResult[]> {
  const results: CommandResult[] = [];
  const edits: PatchEdits = {};
  let breathed = deps.clock();
  for (const [index, command] of commands.entries()) {
    // The runtime handles signals between two turns of the event loop, and edits alone cause none.
    const breathe = async () => {
      if (deps.clock() - breathed <= LONGEST_BREATH_MS && command.content.length < LONG_COMMAND) return;
      await new Promise((resolve) => setImmediate(resolve));
      breathed = deps.clock();
    };
    await breathe();
    if (deps.signal.aborted) break;
    const shown = maskCommand(command, deps.mask);
    deps.emit({ type: "command_started", index, command: shown });
    await breathe();
    const started = deps.clock();
    const { outcome, changes } = await runOne(deps, command, edits);
    await breathe();
    const result: CommandResult = {
      command: shown,
      success: outcome.ok,
      output: deps.mask(outcome.output),
      error: deps.mask(outcome.error),
      ...(outcome.reason !== undefined && { reason: outcome.reason }),
      ...(outcome.process !== undefined && {
        process: {
          ...outcome.process,
          stdout: deps.mask(outcome.process.stdout),
          stderr: deps.mask(outcome.process.stderr),
        },
      }),
      duration: Math.round(deps.clock() - started),
      changes,
      notes: outcome.warnings.map((note) => maskNote(note, deps.mask)),
    };
    results.push(result);
    const { success, output, error, duration, notes } = result;
    deps.emit({ type: "command_finished", index, success, output, error, duration, changes, notes });
    if (!outcome.ok && deps.stopOnError) break;
  }
  return results;
}

/** How this patch's edits are matched; made with the first of them. */
interface PatchEdits {
  run?: ReturnType<typeof import("./matched-edit.ts").createMatchedEdits>;
}

async function runOne(
  deps: RunCommandsDeps,
  command: PatchCommand,
  edits: PatchEdits,
): Promise<{ outcome: CommandOutcome; changes: readonly Change[] }> {
  const { transaction, policy } = deps;
  switch (command.type) {
    case "file_edit": {
      const { planOptions, earlier } = deps;
      const withoutMade =
        earlier &&
        command.edit &&
        (await (await import("../../domain/patch/plan-edit.ts")).loadMadeEdits()).withoutMade;
      const editDeps = { view: transaction.view, policy, planOptions, earlier, withoutMade };
      if (command.edit !== undefined) edits.run ??= (await import("./matched-edit.ts")).createMatchedEdits();
      const run = (command.edit === undefined ? undefined : edits.run) ?? runFileEdit;
      const outcome = attemptCommand(() => run(editDeps, command));
      return { outcome, changes: transaction.takeChanges({ processRan: false }) };
    }
    case "shell_command":
    case "git_operation": {
      const { runProcessCommand } = await import("./run-process-command.ts");
      return runProcessCommand(deps, command);
    }
    default:
      return { outcome: failedOutcome(`unknown command type: ${command.type}`), changes: [] };
  }
}

/** Expected faults become failed commands; anything else is a bug and is thrown. */
function attemptCommand(use: () => CommandOutcome): CommandOutcome {
  try {
    return use();
  } catch (error) {
    if (error instanceof PolicyFault) return failedOutcome(error.message);
    if (error instanceof ViewFault) return failedOutcome(error.message, "", viewFaultReason(error));
    throw error;
  }
}

function viewFaultReason({ code }: ViewFault): FailureReason | undefined {
  switch (code) {
    case "outside":
      return { code: "outside-workspace" };
    case "no-space":
    case "read-only":
      return { code };
    default:
      return undefined;
  }
}

interface CarryOut extends RunOptions {
  readonly attempt?: number;
  /** Replaces the single command. */
  readonly head?: HeadProcess | undefined;
  readonly earlier?: EarlierStates | undefined;
  readonly onEvent?: ((event: JobEvent) => void) | undefined;
}

const MOST_SKIPPED = 50;

const NOTHING_SEALED: SealedChanges = { changes: [], outside: [], notes: [] };

type Swapping = Pick<Transactions, "commit">;

const MOVED = async () => "moved" as const;

interface JobEnding {
  readonly preview: boolean;
  readonly red?: RedReason | undefined;
  /** Whether the workspace is unchanged since the job was judged. */
  readonly still?: (() => Promise<boolean>) | undefined;
}

const REFUSED: JobEnding = { preview: true, red: "hook" };

interface LookedAt {
  readonly results: readonly CommandResult[];
  readonly gitCommit: string | null;
  readonly ended: readonly string[];
}

/** Opens the view of a job; a disk that is full or may not be written is a refusal, not a crash. */
export async function openJob(
  deps: WorkspaceDeps,
  begin: BeginRequest,
  request: ExecuteRequest,
): Promise<OpenedJob | Extract<BeginResult, { ok: false }>> {
  const begun = await beginView(deps, begin);
  if (!begun.ok) return begun;
  const { transaction, insteadOf, repaired } = begun;
  // The job reports that another kind of staging was used than the chosen one.
  const isOther = insteadOf !== undefined && transaction.kind !== "direct";
  const staging = isOther
    ? { ...deps.staging, kind: transaction.kind, reason: insteadOf.reason }
    : deps.staging;
  return { ok: true, job: new JobRun({ ...deps, staging }, request, begin.jobId, transaction), repaired };
}

interface OpenedJob extends Pick<Extract<BeginResult, { ok: true }>, "ok"> {
  readonly job: JobRun;
  /** The earlier swap that was finished first, or that could not be finished. */
  readonly repaired: RepairedJob | undefined;
}

async function beginView({ transactions, root }: WorkspaceDeps, request: BeginRequest): Promise<BeginResult> {
  try {
    return await transactions.begin(request);
  } catch (error) {
    const { code, message, path } = toViewFault(error, (error as { path?: string }).path ?? root);
    if (code !== "no-space" && code !== "read-only" && code !== "permission") throw error;
    return { ok: false, refusal: { code, message, path } };
  }
}

function isProcess({ command }: CommandResult): boolean {
  return command.type === "shell_command" || command.type === "git_operation";
}

export class JobRun implements RunningJob {
  readonly #story: JobStory;
  readonly #processes: JobProcesses;
  /** HEAD before the job, if commits are made before and after it. */
  #from: string | null = null;
  /** Connections of commands through an allow-list, by host. */
  readonly #reached = new Map<string, number>();

  constructor(
    readonly deps: WorkspaceDeps,
    request: ExecuteRequest,
    readonly jobId: string,
    readonly transaction: Transaction,
  ) {
    this.#story = new JobStory(deps, request, { jobId, kind: transaction.kind });
    this.#processes = new JobProcesses(this, this.#story);
  }

  get #request(): ExecuteRequest {
    return this.#story.request;
  }

  get #notes(): Note[] {
    return this.#story.notes;
  }

  async check(request: CheckRequest & { readonly signal: AbortSignal }): Promise<Checked> {
    const { runChecks } = await import("./run-checks.ts");
    return runChecks(this, request);
  }

  describe(about: Parameters<JobStory["describe"]>[0]): void {
    this.#story.describe(about);
  }

  note(notes: readonly Note[]): void {
    this.#notes.push(...notes);
  }

  /** Reports in the result what the last answer of a coder has besides its commands, and in the journal what each has. */
  noteSkipped(skipped: readonly SkippedPart[], attempt?: number): void {
    const before = this.#notes.findIndex(
      (note) => typeof note !== "string" && note.code === "answer-skipped",
    );
    if (before >= 0) this.#notes.splice(before, 1);
    if (skipped.length === 0) return;
    const parts = skipped.slice(0, MOST_SKIPPED).map(({ text }) => this.deps.mask(text));
    this.#notes.push({ code: "answer-skipped", parts });
    this.emit({ type: "answer_skipped", ...(attempt !== undefined && { attempt }), parts });
  }

  /** Reports in the result and the journal that another's change was merged into a file, or was lost. */
  noteMerged(merged: readonly MergedNote[]): void {
    for (const { path, by, lost } of merged) {
      const one = { path, by, ...(lost && { lost }) };
      const note = { code: "merged", ...one } as const;
      if (this.#notes.some((other) => isSameNote(other, note))) continue;
      this.#notes.push(note);
      this.emit({ type: "merged", ...one });
    }
  }

  async run(commands: readonly PatchCommand[], warnings: readonly string[]): Promise<JobResult> {
    this.describe({ commands, warnings });
    return this.orBroken(async () => {
      this.start();
      const refused = await this.commitBefore();
      if (refused !== null) return refused;
      const results = await this.carryOut(commands);
      // Their changes up to that point are validated when sealed, or before PicoClaw's own git commits them.
      const { preview } = this.#request;
      return (await this.end(results, await this.endProcesses(), { preview })) as RanJob;
    });
  }

  /** A bug or a broken disk: the job's staged changes are removed, and the cause is reported to the caller. */
  async orBroken<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } catch (error) {
      await this.endProcesses();
      throw await this.broken(error);
    }
  }

  start(options: { readonly again?: boolean } = {}): void {
    const counts = executionSummary(this.#story.commands);
    const { transaction } = this;
    if (options.again !== true) this.#request.onStart?.(this.jobId);
    this.#notes.push(...kindNotes(this.deps, transaction));
    // A job of edits alone ends before a list of running jobs could show it.
    if (transaction.kind !== "direct") this.saveRunning();
    this.emit({
      type: "job_started",
      workspace: this.deps.root,
      kind: transaction.kind,
      commands: this.#story.commands.length,
      file_edits: counts.fileEdits,
      shell_commands: counts.shellCommands,
      git_operations: counts.gitOperations,
    });
  }

  #countReached(hosts: readonly ReachedHost[]): void {
    for (const { host, count } of hosts) this.#reached.set(host, (this.#reached.get(host) ?? 0) + count);
  }

  /** What is told about the network at the end of a job. Only a job with an allow-list has something to load for it. */
  async #networkNotes(results: readonly CommandResult[]): Promise<NoteFact[]> {
    const { takeTraffic, network, kind } = this.transaction;
    const { config, tellModelNetwork, archive } = this.deps;
    const { startedBy } = this.#request;
    const notes: NoteFact[] = [];
    if (network !== undefined && takeTraffic !== undefined) {
      const { networkNotes } = await import("./run-process-command.ts");
      const left = networkNotes({ network, takeTraffic, startedBy });
      this.#countReached(left.reached);
      notes.push(...left.notes);
    }
    const hosts = [...this.#reached].map(([host, count]) => ({ host, count }));
    if (hosts.length > 0)
      notes.push({ code: "hosts-reached", hosts: hosts.sort((x, y) => y.count - x.count) });
    const isModels = startedBy === "model" && tellModelNetwork !== undefined;
    if (!isModels || config.model_network.mode !== "allow_list" || !results.some(isProcess)) return notes;
    if (network === undefined && ((await tellModelNetwork()) || archive.isFirstOf(kind)))
      notes.push({ code: "model-network-open" });
    return notes;
  }

  /** Records the running job, so that others recognise it as dead when its process is gone. */
  saveRunning(): void {
    this.deps.archive.save(this.#story.record("running"));
  }

  /** Drops the staged changes; the journal stays. */
  async drop(reason: string): Promise<void> {
    await this.forget(reason.startsWith("answered") ? "answered" : "rolled-back", reason);
    this.emit({ type: "rolled_back", reason });
  }

  /** The commit before the first command, if configured; a refusal if it failed. */
  async commitBefore(more: { readonly except?: readonly string[] } = {}): Promise<RefusedJob | null> {
    const { autoCommit, signal } = this.#request;
    if (!autoCommit) return null;
    const before = await this.#processes.commit("before", more);
    this.#from = before.ok ? before.from : null;
    return before.ok || signal.aborted ? null : await this.refuse(before);
  }

  carryOut(commands: readonly PatchCommand[], run: CarryOut = {}): Promise<CommandResult[]> {
    const { attempt } = run;
    const { stopOnError, commandTimeoutSeconds } = this.#request;
    return runCommands(
      {
        ...this.#processes.inputs(run),
        processes: () => this.#processes.runner(),
        head: run.head,
        earlier: run.earlier,
        planOptions: this.deps.planOptions,
        stopOnError,
        commandTimeoutSeconds: commandTimeoutSeconds ?? this.deps.config.command_timeout,
        gitTimeoutSeconds: this.deps.config.git_timeout,
        limits: this.deps.config.limits,
        startedBy: this.#request.startedBy,
        onReached: (hosts) => this.#countReached(hosts),
        mask: this.deps.mask,
        clock: this.deps.clock,
        emit: (event) => {
          const attempted = attempt === undefined ? event : { ...event, attempt };
          this.emit(attempted);
          run.onEvent?.(attempted);
          if (event.type === "command_finished")
            logCommand(this.deps, this.jobId, event, commands[event.index] as PatchCommand);
        },
      },
      commands,
    );
  }

  /** Journals and logs a command that ran elsewhere: commands of a check or of another draft count as the job's own. */
  tellResult(result: CommandResult, index: number, attempt: number): void {
    const { command, success, output, error, duration, changes, notes } = result;
    this.emit({ type: "command_started", attempt, index, command });
    const ended = { success, output, error, duration, changes, notes };
    const event = { type: "command_finished", attempt, index, ...ended } as const;
    this.emit(event);
    logCommand(this.deps, this.jobId, event, command);
  }

  async settle(
    ran: readonly CommandResult[],
  ): Promise<{ readonly results: readonly CommandResult[]; readonly ended: readonly string[] }> {
    const ended = await this.endProcesses();
    return { results: await this.#judgeSettled(ran), ended };
  }

  get #guard(): GuardDeps {
    const { policy, planOptions } = this.deps;
    return { transaction: this.transaction, protection: policy.protection, sha1: planOptions.sha1 };
  }

  async #judgeSettled(ran: readonly CommandResult[]): Promise<readonly CommandResult[]> {
    if (ran.every(({ command }) => command.type === "file_edit")) return ran;
    const { validateSettled } = await import("./final-validation.ts");
    const results = validateSettled(this.#guard, ran);
    this.#tellJudged(ran, results);
    return results;
  }

  /** Seals the changes that the last judgement passes; the results name the others. */
  async #seal(
    results: readonly CommandResult[],
    end: { readonly preview: boolean },
  ): Promise<{ readonly sealed: SealedChanges; readonly judged: readonly CommandResult[] }> {
    // Each path of an edit was checked when it was used; only together can they make a git directory.
    const isPlain = results.every(({ changes }) => !changes.some(({ path }) => mayMatterToGit(path)));
    if (this.transaction.kind === "direct" && isPlain)
      return { sealed: await this.transaction.seal(dropGitPaths, end), judged: results };
    const { sealValidated } = await import("./final-validation.ts");
    const ended = await sealValidated(this.#guard, results, end);
    this.#tellJudged(results, ended.judged);
    return ended;
  }

  #tellJudged(before: readonly CommandResult[], after: readonly CommandResult[]): void {
    for (const [index, { success, error }] of after.entries())
      if (error !== before[index]?.error) this.emit({ type: "command_judged", index, success, error });
  }

  /** The commit before the job failed: only our git ran, and only the journal of the job is kept. */
  private async refuse(before: Exclude<AutoCommitResult, { ok: true }>): Promise<RefusedJob> {
    await this.endProcesses();
    await this.forget();
    return refuseJob(this.deps.root, { code: "auto-commit", cause: before.code, message: before.error });
  }

  private async forget(outcome: "answered" | "rolled-back" = "rolled-back", reason = ""): Promise<void> {
    await this.transaction.discard();
    await this.deps.transactions.discard(this.jobId);
    this.deps.archive.save({ ...this.#story.record(outcome), ...endReason(reason) });
  }

  /** Drops the staged changes, as far as a failing disk permits. */
  private async broken(error: unknown): Promise<JobBroken> {
    try {
      await this.forget();
    } catch {
      // The result names the cause; the rest is for `doctor --repair`.
    }
    const message = error instanceof Error ? error.message : String(error);
    this.deps.logger.error("worker", ...LOG.executionError, { job_id: this.jobId, error: message });
    return new JobBroken(this.jobId, this.deps.root, error, nameJobId(this.deps.archive, this.jobId));
  }

  /** Commits the changes, keeps them as a preview or rolls them back. If `still`, called under the lock, is false, the job continues. */
  async end(
    settled: readonly CommandResult[],
    endedBefore: readonly string[],
    how: JobEnding,
  ): Promise<RanJob | "moved"> {
    const { transactions } = this.deps;
    const ended = [...endedBefore];
    const refused = how.preview ? null : await this.#askHooks(settled);
    if (refused !== null) {
      this.note([refused]);
      return (await this.#sealAndSwap({ results: settled, gitCommit: null, ended }, REFUSED, transactions))();
    }
    const after = await this.commitAfter(settled, ended);
    const { still } = how;
    const land = (held: Swapping) => this.#sealAndSwap({ ...after, ended }, how, held);
    const isOver = this.#request.signal.aborted;
    const landed =
      still === undefined || isOver
        ? await land(transactions)
        : await transactions.hold(async (held) => ((await still()) ? land(held) : MOVED));
    // The swap notifies a caller that cannot have the lock.
    return (landed === "busy" ? await land(transactions) : landed)();
  }

  async #askHooks(settled: readonly CommandResult[]): Promise<Note | null> {
    const { hooks } = this.deps;
    const { signal } = this.#request;
    if (hooks === undefined || hooks.before_landing.length === 0) return null;
    if (signal.aborted || wantsRollback(this.#request, settled)) return null;
    const changes = this.transaction.layers?.changes() ?? settled.flatMap(({ changes }) => changes);
    if (changes.length === 0) return null;
    const { askBeforeLanding } = await import("./hooks.ts");
    return askBeforeLanding(this, hooks, changes, signal);
  }

  /** Runs the user's hooks for the job's outcome before the outcome is reported, so that the report includes failed hooks. */
  async #runHooks(outcome: JobOutcome, isRed: boolean, { sealed: { changes } }: JobEnd): Promise<void> {
    const { hooks } = this.deps;
    const moment = outcome === "committed" && changes.length > 0 ? "after_landing" : isRed ? "on_red" : null;
    if (hooks === undefined || moment === null || hooks[moment].length === 0) return;
    const { runHooks } = await import("./hooks.ts");
    for (const note of await runHooks(this.deps, moment, { jobId: this.jobId, changes })) {
      this.note([note]);
      this.emit({ type: "note", text: wordNote(this.deps.messages, note) });
    }
  }

  /** Returns the work to be done after the lock is released. */
  async #sealAndSwap(
    { results: looked, gitCommit, ended }: LookedAt,
    { preview, red }: JobEnding,
    held: Swapping,
  ): Promise<() => Promise<RanJob>> {
    const { jobId, transaction } = this;
    const request = this.#request;
    if (looked.some(({ command, checked }) => command.type === "shell_command" && checked !== true))
      this.#notes.push(notUndoableNote(transaction));
    const isOver = wantsRollback(this.#request, looked) && transaction.kind !== "none";
    const { sealed, judged: results } = isOver
      ? { sealed: NOTHING_SEALED, judged: looked }
      : await this.#seal(looked, { preview });
    const aborted = request.signal.aborted;
    const isTakenBack = wantsRollback(this.#request, results) || isUnstaged(sealed);
    const rollsBack = isTakenBack && transaction.kind !== "none";
    const end: JobEnd = {
      results,
      gitCommit: rollsBack ? null : gitCommit,
      ended,
      sealed: NOTHING_SEALED,
      swapped: null,
      keptAfterFailure: isTakenBack && !rollsBack,
    };
    for (const note of await this.#networkNotes(looked)) {
      this.#notes.push(note);
      this.emit({ type: "note", text: wordNote(this.deps.messages, note) });
    }
    if (rollsBack) {
      await transaction.discard();
      this.#noteHome();
      const failure = results.find(({ success }) => !success);
      return () => this.dropAll(end, aborted ? null : (failure?.error ?? ""));
    }
    this.#notes.push(...sealed.notes);
    this.#noteHome();
    // A preview without changes would wait to be applied in vain.
    const isKept = preview && (sealed.changes.length > 0 || red !== undefined);
    const ending = isKept ? "staged" : "committed";
    this.deps.archive.save({
      ...this.#story.record(ending, { results, changes: sealed.changes, gitCommit }),
      ...(red !== undefined && { red }),
    });
    if (isKept) {
      await this.deps.transactions.stage(jobId);
      this.emit({ type: "staged", changes: countFiles(sealed.changes) });
      return () => this.conclude("staged", { ...end, sealed }, red !== undefined);
    }
    const swapped = await held.commit(jobId, { may: () => this.mayCommit() });
    if (swapped.status === "late") return () => this.dropAll(end, null);
    if (isWorkspaceGone(swapped)) {
      // The seal compared the job with a folder that does not exist.
      for (const note of sealed.notes) this.#notes.splice(this.#notes.indexOf(note), 1);
      const reason = this.deps.messages.workspaceGone(this.deps.root, transaction.kind);
      return () => this.dropAll({ ...end, swapped }, reason);
    }
    const done = swapped.status === "done";
    if (done) this.emit({ type: "committed", changes: countFiles(sealed.changes) });
    else this.emit({ type: "conflict", paths: swapConflicts(swapped).map(({ path }) => path) });
    return () =>
      this.conclude(done ? "committed" : "conflict", {
        ...end,
        sealed,
        swapped,
        gitCommit: done ? gitCommit : null,
      });
  }

  #noteHome(): void {
    const aside = this.transaction.homeAside?.() ?? null;
    if (aside !== null) this.#notes.push(sealNote("home-unusable", aside));
  }

  /** The commit after the patch. The job's processes are ended and judged first, so that our own git sees permitted changes only. */
  private async commitAfter(settled: readonly CommandResult[], ended: string[]) {
    const nothing = { results: settled, gitCommit: null };
    const isWanted = this.#request.autoCommit && settled.some(({ success }) => success);
    if (!isWanted || wantsRollback(this.#request, settled)) return nothing;
    const { layers } = this.transaction;
    // If no process ran, there is none to end, and none to hide from.
    if (settled.some(({ command }) => command.type !== "file_edit")) await layers?.rest();
    const asleep = (await layers?.wake()) ?? null;
    if (asleep !== null) {
      this.#notes.push({ code: "auto-commit-failed", error: this.deps.mask(asleep.message) });
      return nothing;
    }
    const results = await this.#judgeSettled(settled);
    if (wantsRollback(this.#request, results)) return { results, gitCommit: null };
    const after = await this.#processes.commit("after");
    ended.push(...(await this.endProcesses()));
    if (!after.ok) this.#notes.push({ code: "auto-commit-failed", error: this.deps.mask(after.error) });
    return { results, gitCommit: after.ok ? after.commit : null };
  }

  /** Discards all of the job. A reason of null: the job was stopped. */
  private async dropAll(end: JobEnd, reason: string | null): Promise<RanJob> {
    await this.deps.transactions.discard(this.jobId);
    this.emit({ type: "rolled_back", reason: reason ?? "aborted" });
    const back = { ...end, gitCommit: null, rolledBackTo: this.#from, reason: reason ?? "aborted" };
    return this.conclude(reason === null ? "aborted" : "rolled-back", back);
  }

  /** Changes made in place are final. */
  private async mayCommit(): Promise<boolean> {
    if (this.transaction.kind === "none") return true;
    return (await this.deps.mayCommit?.(this.#request.signal)) ?? true;
  }

  private async conclude(outcome: JobOutcome, end: JobEnd, isRed = false): Promise<RanJob> {
    await this.#runHooks(outcome, isRed, end);
    const { results, sealed, gitCommit } = end;
    const recorded = this.#story.record(outcome, { results, changes: sealed.changes, gitCommit });
    const record = { ...recorded, ...endReason(end.reason ?? ""), ...(isRed && { success: false }) };
    return concludeJob(this.deps, record, this.#story.warnings, end);
  }

  readonly emit = (event: JobEvent): void => {
    this.deps.archive.append(this.jobId, forJournal(event));
    this.#request.onEvent?.(event);
  };

  /** Ends all processes of the job, and names a server that was among them. */
  endProcesses(): Promise<readonly string[]> {
    return this.#processes.end();
  }
}
