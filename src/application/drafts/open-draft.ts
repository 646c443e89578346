import {
  type Change,
  type CommandResult,
  findGitFolder,
  type JobRefusal,
  newJobId,
  type RanJob,
  type RedReason,
  type RefusedJob,
  refuseJob,
  refusePatch,
  succeededResult,
} from "../../domain/jobs/result.ts";
import { type EarlierStates, maskCommand, type PatchCommand } from "../../domain/patch/patch-command.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { repairNotes } from "../jobs/job-facts.ts";
import { type JobRun, openJob } from "../jobs/job-run.ts";
import {
  asksHooks,
  logParsedPatch,
  logPatchStart,
  parseCommands,
  settingRefusal,
} from "../jobs/workspace-jobs.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type {
  Checked,
  CheckRequest,
  Draft,
  DraftAttempt,
  DraftRequest,
  DraftRun,
  MergedNote,
  OpenedDraft,
  Rebased,
  ScratchChange,
} from "../ports/jobs-draft.ts";
import type { Layers } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import { type TakenEdit, takeInEdits, ViewFault } from "../ports/platform-view.ts";

/** Opens a draft. If nothing can be staged, the refusal happens here, before any model is asked. */
export async function openDraft(deps: WorkspaceDeps, request: DraftRequest): Promise<OpenedDraft> {
  const draft = new OpenDraft(deps, request);
  const refusal = await draft.begin();
  return refusal === null ? { ok: true, draft } : { ok: false, refusal };
}

class OpenDraft implements Draft {
  readonly id: string;
  readonly #deps: WorkspaceDeps;
  readonly #request: DraftRequest;
  readonly #autoCommit: boolean;
  #job: JobRun | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;
  readonly #end = new AbortController();
  readonly #asides = new Set<Promise<unknown>>();
  /** The contents that commands left in files which a formatter then rewrote. */
  readonly #asRun = new Map<string, Uint8Array | null | undefined>();
  /** Successful commands of earlier attempts, and all of the last one. */
  #earlier: readonly CommandResult[] = [];
  #last: { readonly commands: readonly PatchCommand[]; readonly results: readonly CommandResult[] } = {
    commands: [],
    results: [],
  };
  readonly #warnings: string[] = [];
  /** The base contents of edits, if they differ from the workspace when the edits ran. */
  readonly #bases = new Map<string, Uint8Array | null>();
  readonly #once = new Set<CommandResult>();
  /** The contents of changed files before each attempt. */
  readonly #states = new Map<string, (Uint8Array | null)[]>();
  /** PicoClaw's own commits are in the draft, and must be repeated if others committed meanwhile. */
  #hasCommitted = false;
  /** The draft holds the landing turn, for which others wait. */
  #hasTurn = false;
  readonly #ended: string[] = [];

  constructor(deps: WorkspaceDeps, request: DraftRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#autoCommit = request.autoCommit ?? deps.config.auto_commit;
    this.id = newJobId(deps.now(), deps.random);
  }

  begin(): Promise<JobRefusal | null> {
    return this.#ensure(
      this.#request.checked || this.#autoCommit || asksHooks(this.#deps, { preview: false }),
    );
  }

  get files() {
    return this.#layers.files;
  }

  changes() {
    return this.#layers.changes();
  }

  homes() {
    return this.#layers.homes?.() ?? null;
  }

  diff() {
    const { transaction } = this.#open;
    return this.changes().flatMap(({ path }) => {
      const before = transaction.original(path);
      const after = transaction.current(path);
      if (before === null ? after === null : after !== null && Buffer.compare(before, after) === 0) return [];
      return [{ path, before, after }];
    });
  }

  run(attempt: DraftAttempt): Promise<DraftRun> {
    return this.#inTurn(() => this.#run(attempt));
  }

  async #run(given: DraftAttempt): Promise<DraftRun> {
    const { work, attempt, plan, merged = [], bases, once, maySendAgain, ...told } = given;
    const { root, logger } = this.#deps;
    const head = "head" in work ? work.head : undefined;
    // A head's turn is a command of the job.
    const parsed =
      "patch" in work
        ? (work.parsed ?? (await parseCommands(work.patch)))
        : ({
            ok: true,
            commands:
              "head" in work
                ? [{ type: "shell_command", action: "run", target: work.head.title, content: "" }]
                : work.commands,
            warnings: [],
          } as const);
    if (!parsed.ok) {
      logger.error("worker", ...LOG.executionError, { job_id: this.id, error: parsed.failure.message });
      return refusePatch(root, parsed.failure);
    }
    const { warnings } = parsed;
    const commands = ("patch" in work ? work.commands : undefined) ?? parsed.commands;
    const format = "format" in parsed ? parsed.format : undefined;
    const logged = { jobId: this.id, format, commands: parsed.commands };
    if (head === undefined) logParsedPatch(this.#deps, logged);
    const refusal = await this.#ensure(commands.some(({ type }) => type !== "file_edit"));
    if (refusal !== null) return refuseJob(root, refusal);
    const job = this.#open;
    const reason = job.transaction.kind === "overlay" ? "unconfined" : job.deps.staging.reason;
    if (head !== undefined && this.#layers.headPort === undefined)
      return refuseJob(root, { code: "head", reason, message: messagesFor("en").headRefused(reason) });
    const patch = "patch" in work ? work.patch : undefined;
    if (head === undefined)
      logPatchStart(this.#deps, {
        ...logged,
        sessionKey: this.#request.sessionKey ?? this.#request.source,
        patch: patch ?? JSON.stringify(commands),
        kind: job.transaction.kind,
      });
    this.#earlier = this.#counted().filter(({ success }) => success);
    this.#last = { commands, results: [] };
    this.#warnings.push(...warnings);
    this.#describe(plan, patch);
    if (plan !== undefined && plan.trim() !== "")
      job.emit({ type: "planned", attempt, plan: this.#deps.mask(cutMiddle(plan, JOURNAL_PLAN)) });
    job.noteMerged(merged);
    if (parsed.ok && "skipped" in parsed) job.noteSkipped(parsed.skipped ?? [], attempt);
    for (const [path, bytes] of bases ?? []) this.#bases.set(path, bytes);
    const signal = this.#signalWith(told.signal);
    return this.#orBroken(async () => {
      // PicoClaw's own git commands never run in a head's view.
      const opened = this.#isFirst && this.#autoCommit ? undefined : head;
      const asleep = commands.length === 0 ? null : await this.#layers.wake(opened?.surroundings);
      if (asleep !== null) return refuseJob(root, asleep);
      const before = this.#isFirst ? await this.#commitFirst(job) : null;
      if (before !== null) return before;
      if (head !== undefined && opened === undefined) {
        await this.#layers.rest();
        const refused = await this.#layers.wake(head.surroundings);
        if (refused !== null) return refuseJob(root, refused);
      }
      const earlier = maySendAgain === true ? this.#earlierStates() : undefined;
      const carried = await job.carryOut(commands, { ...told, attempt, signal, head, earlier });
      const { results, ended } = await job.settle(carried);
      this.#last = { commands, results };
      this.#forgetAsRun(results);
      if (once === true || head !== undefined) for (const result of results) this.#once.add(result);
      this.#ended.push(...ended);
      await this.#layers.rest();
      // The draft stays open, so another process must be able to find it after a crash. A job with edits only is saved at its end.
      if (job.transaction.kind === "direct" && results.some(({ success }) => !success)) job.saveRunning();
      const aborted = signal.aborted;
      const changes = this.changes();
      return { about: "attempt", results, totalCmds: commands.length, warnings, changes, ended, aborted };
    });
  }
  #isFirst = true;

  /** How the files that this draft changed were before its attempts, to which the state before the next one is added. */
  #earlierStates(): EarlierStates {
    const { transaction } = this.#open;
    for (const { path } of this.changes())
      this.#states.set(path, [...(this.#states.get(path) ?? []), transaction.current(path)]);
    return (path) => {
      const own = this.changes().filter((one) => one.path === path || one.path.startsWith(`${path}/`));
      const states = [...this.#states].filter(([one]) => one === path || one.startsWith(`${path}/`));
      return [...own.map((one) => transaction.original(one.path)), ...states.flatMap(([, all]) => all)];
    };
  }

  async #commitFirst(job: JobRun): Promise<RefusedJob | null> {
    this.#isFirst = false;
    const before = await job.commitBefore();
    this.#isOver ||= before !== null;
    return before;
  }

  takeIn(edits: readonly TakenEdit[], attempt: number | null): Promise<JobRefusal | null> {
    return this.#inTurn(async () => {
      const refusal = await this.#ensure(false);
      if (refusal !== null) return refusal;
      const job = this.#open;
      const { transaction } = job;
      return this.#orBroken(async () => {
        const asleep = await this.#layers.wake();
        if (asleep !== null) return asleep;
        const refused = this.#isFirst ? await this.#commitFirst(job) : null;
        if (refused !== null) return { code: "failed", message: this.id };
        for (const { path } of attempt === null ? edits : [])
          if (!this.#asRun.has(path)) this.#asRun.set(path, transaction.current(path));
        try {
          takeInEdits(transaction.view, edits);
        } catch (error) {
          if (!(error instanceof ViewFault)) throw error;
          // The coder is informed that none of it was used.
          transaction.takeChanges({ processRan: false });
          return { code: "failed", message: error.message };
        } finally {
          await this.#layers.rest();
        }
        const changes = Map.groupBy(transaction.takeChanges({ processRan: false }), ({ path }) => path);
        if (attempt === null) return null;
        const results = edits.map((edit) => this.#toTakenResult(edit, changes.get(edit.path) ?? []));
        this.#earlier = [...this.#earlier, ...results];
        for (const [index, result] of results.entries()) job.tellResult(result, index, attempt);
        return null;
      });
    });
  }

  #toTakenResult({ path, entry }: TakenEdit, changes: readonly Change[]): CommandResult {
    const action = entry.kind === "missing" ? "delete" : "update";
    const command: PatchCommand = { type: "file_edit", action, target: path, content: "" };
    return succeededResult(maskCommand(command, this.#deps.mask), changes);
  }

  addResults(results: readonly CommandResult[], attempt: number): Promise<void> {
    return this.#inTurn(async () => {
      const shown = results.map((one) => ({ ...one, command: maskCommand(one.command, this.#deps.mask) }));
      const { commands } = this.#last;
      for (const [at, result] of shown.entries()) {
        this.#open.tellResult(result, commands.length + at, attempt);
        this.#once.add(result);
      }
      this.#last = {
        commands: [...commands, ...shown.map(({ command }) => command)],
        results: [...this.#last.results, ...shown],
      };
    });
  }

  journal(event: JobEvent): void {
    if (!this.#isOver) this.#open.emit(event);
  }

  check(request: CheckRequest): Promise<Checked> {
    const run = async () => {
      const refusal = await this.#ensure(true);
      if (refusal !== null) return { ok: false, why: "unavailable", message: refusal.message } as const;
      const signal = this.#signalWith(request.signal);
      const job = this.#open;
      const use = () => job.check({ ...request, signal });
      const { checkSlots } = this.#deps;
      return checkSlots === undefined ? use() : checkSlots.run(use, { urgent: this.#hasTurn, signal });
    };
    // Only in an overlay is the throw-away view of the baseline separate from the draft.
    const isApart = request.over === "baseline" && this.#job?.transaction.kind === "overlay";
    if (!isApart) return this.#inTurn(run);
    this.#mustBeOpen();
    const aside = run().finally(() => this.#asides.delete(aside));
    this.#asides.add(aside);
    return aside;
  }

  readScratch(scratch: string): Promise<ScratchChange> {
    return this.#inTurn(async () => {
      const refusal = await this.#ensure(true);
      if (refusal !== null) return { ok: false, message: refusal.message };
      await this.#layers.rest();
      const { readScratchChange } = await import("./scratch-change.ts");
      return readScratchChange(this.#layers, this.#deps.policy.protection, scratch);
    });
  }

  async takeTurn(): Promise<() => void> {
    const giveBack = await this.#deps.transactions.takeTurn(this.#signalWith());
    this.#hasTurn = true;
    return () => {
      this.#hasTurn = false;
      giveBack();
    };
  }

  rebase(): Promise<Rebased> {
    return this.#inTurn(async () => {
      const rebased = await this.#rebase();
      this.noteMerged(rebased.merged);
      return rebased;
    });
  }

  async #rebase(): Promise<Rebased> {
    const { rebaseDraft } = await import("./rebase-draft.ts");
    const job = this.#open;
    return this.#orBroken(() =>
      rebaseDraft({
        transaction: job.transaction,
        results: this.#counted().filter((result) => !this.#once.has(result)),
        bases: this.#bases,
        asRun: new Map(this.#asRun),
        whoChanged: (path) => lastJobOf(this.#deps.archive, this.id, path),
        runAgain: async (commands) => {
          const asleep = await this.#layers.wake();
          if (asleep !== null) return null;
          const ran = await job.settle(await job.carryOut(commands, { signal: this.#request.signal }));
          this.#ended.push(...ran.ended);
          await this.#layers.rest();
          this.#forgetAsRun(ran.results);
          return ran.results;
        },
      }),
    );
  }

  noteMerged(merged: readonly MergedNote[]): void {
    this.#open.noteMerged(merged);
  }

  hasMoved(): boolean {
    return this.#movedPaths().some((path) => findGitFolder(path) === undefined);
  }

  #movedPaths(): string[] {
    return (this.#layers.moved?.() ?? []).map(({ path }) => path);
  }

  giveWay(paths: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#layers.rest();
      const given = [...paths, ...this.#withdraw(new Set(paths))];
      this.#layers.forget?.(given);
      for (const path of given) this.#bases.delete(path);
    });
  }

  /** A rebase no longer runs commands that wrote one of these files: the coder proposes them again. Returns their other files. */
  #withdraw(paths: ReadonlySet<string>): string[] {
    const wrote = ({ changes }: CommandResult) => changes.some(({ path }) => paths.has(path));
    const pathsOf = (results: readonly CommandResult[]) =>
      results.flatMap(({ changes }) => changes.map(({ path }) => path));
    const counted = this.#counted().filter((result) => !this.#once.has(result));
    const withdrawn = counted.filter((result) => result.command.type !== "file_edit" && wrote(result));
    for (const result of withdrawn) this.#once.add(result);
    const kept = new Set(pathsOf(counted.filter((result) => !withdrawn.includes(result))));
    return pathsOf(withdrawn).filter((path) => !kept.has(path) && !paths.has(path));
  }

  commit(): Promise<RanJob> {
    return this.#finish({ preview: false }) as Promise<RanJob>;
  }

  commitIf(still: () => Promise<boolean>): Promise<RanJob | "moved"> {
    return this.#finish({ preview: false, still });
  }

  keep(red?: RedReason): Promise<RanJob> {
    return this.#finish({ preview: true, red }) as Promise<RanJob>;
  }

  #finish(how: Parameters<JobRun["end"]>[2]): Promise<RanJob | "moved"> {
    return this.#inTurn(async () => {
      const job = this.#open;
      if (how.still === undefined) await this.#endAsides();
      this.#describe();
      const ended = await this.#orBroken(async () => {
        if (!how.preview) await this.#commitAnew(job);
        this.#hasCommitted ||= this.#autoCommit;
        return job.end(this.#counted(), this.#ended, how);
      });
      if (ended === "moved") return ended;
      this.#isOver = true;
      await this.#endAsides();
      return ended;
    });
  }

  /** PicoClaw's own commits belong on the current HEAD: if it moved, or a landing was tried, the first commit is repeated. */
  async #commitAnew(job: JobRun): Promise<void> {
    const { forget } = this.#layers;
    if (!this.#autoCommit || forget === undefined || this.#request.signal.aborted) return;
    const changed = this.changes().map(({ path }) => path);
    const ofGit = changed.filter(findGitFolder);
    const isOld = this.#hasCommitted || this.#movedPaths().some((path) => findGitFolder(path) !== undefined);
    const isCoders = this.#counted().some(({ changes }) =>
      changes.some(({ path }) => findGitFolder(path) !== undefined),
    );
    if (!isOld || isCoders) return;
    await this.#layers.rest();
    forget(ofGit);
    if ((await this.#layers.wake()) !== null) return;
    await job.commitBefore({ except: changed });
    await this.#layers.rest();
  }

  async discard(reason: string): Promise<void> {
    if (this.#isOver) return;
    this.#end.abort();
    await this.#inTurn(async () => {
      await this.#endAsides();
      this.#isOver = true;
      await this.#job?.drop(reason);
    }).catch((error: unknown) => {
      if (!this.#isOver) throw error;
    });
  }

  async #endAsides(): Promise<void> {
    this.#end.abort();
    await Promise.allSettled([...this.#asides]);
  }

  /** Begins the job, or moves its edits into a view in which processes can run. */
  async #ensure(runsProcesses: boolean): Promise<JobRefusal | null> {
    const begun = this.#job;
    if (begun !== null && (begun.transaction.kind !== "direct" || !runsProcesses)) return null;
    const setting = runsProcesses
      ? settingRefusal(this.#deps, { preview: false, startedBy: this.#request.startedBy })
      : null;
    if (setting !== null) return setting;
    const again = begun !== null;
    // Edits of files that others saved meanwhile are merged first; if one cannot be merged, the draft stays as it is.
    const rebased = again && this.hasMoved() ? await this.#rebase() : null;
    const [contested] = rebased?.conflicts ?? [];
    if (contested !== undefined) begun?.noteMerged(rebased?.merged ?? []);
    if (contested !== undefined) return refuseMoved(contested.path);
    const kind = runsProcesses ? this.#deps.staging.kind : "direct";
    const { network = true, startedBy, stopOnError = this.#deps.config.stop_on_error } = this.#request;
    const how = { patch: "", dryRun: false, preview: false, atomic: false, stopOnError };
    const opened = await openJob(
      this.#deps,
      { jobId: this.id, kind, startedBy, network, resting: true, again },
      { ...this.#request, ...how, autoCommit: this.#autoCommit },
    );
    if (!opened.ok) {
      this.#isOver ||= again;
      return opened.refusal;
    }
    const { job } = opened;
    this.#job = job;
    job.note(repairNotes(opened.repaired));
    job.start({ again });
    job.noteMerged(rebased?.merged ?? []);
    return begun === null ? null : this.#takeEdits(begun);
  }

  async #takeEdits(from: JobRun): Promise<JobRefusal | null> {
    const taken = from.transaction.layers?.takeEdits?.();
    const { transaction } = this.#open;
    const asleep = taken?.ok === true ? await this.#layers.wake() : null;
    if (taken?.ok !== true || asleep !== null) {
      this.#isOver = true;
      const refusal = asleep ?? refuseMoved(taken?.ok === false ? taken.path : "");
      await this.#open.drop(refusal.message);
      return refusal;
    }
    takeInEdits(transaction.view, taken.edits);
    transaction.takeChanges({ processRan: false });
    return null;
  }

  #forgetAsRun(results: readonly CommandResult[]): void {
    for (const { path } of results.flatMap(({ changes }) => changes)) this.#asRun.delete(path);
  }

  #counted(): readonly CommandResult[] {
    return [...this.#earlier, ...this.#last.results];
  }

  #describe(plan?: string, patch?: string): void {
    const commands = [...this.#earlier.map(({ command }) => command), ...this.#last.commands];
    this.#open.describe({ commands, warnings: this.#warnings, plan, patch });
  }

  /** A broken disk or a bug ends the draft: nothing of it is applied. */
  async #orBroken<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await this.#open.orBroken(use);
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  #inTurn<T>(use: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => {
      this.#mustBeOpen();
      return use();
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Ends with the draft, at the latest. */
  #signalWith(own: AbortSignal = this.#end.signal): AbortSignal {
    return AbortSignal.any([this.#request.signal, this.#end.signal, own]);
  }

  #mustBeOpen(): void {
    if (this.#isOver) throw new Error(`the draft has ended: ${this.id}`);
  }

  get #open(): JobRun {
    if (this.#job === null) throw new Error(`the draft was not begun: ${this.id}`);
    return this.#job;
  }

  get #layers(): Layers {
    const { layers } = this.#open.transaction;
    if (layers === undefined)
      throw new Error(`no draft can be open in a transaction of this kind: ${this.id}`);
    return layers;
  }
}

const JOURNAL_PLAN = 4_096;

function refuseMoved(path: string): JobRefusal {
  return { code: "failed", message: `changed while the draft was open: ${path}` };
}

function lastJobOf(archive: WorkspaceDeps["archive"], own: string, path: string): string | null {
  const job = archive
    .list(["committed"])
    .findLast(({ jobId, changes }) => jobId !== own && changes.some((change) => change.path === path));
  return job?.jobId ?? null;
}
