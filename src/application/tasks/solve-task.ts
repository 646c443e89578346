import { provesFix, rankCoderCandidates } from "../../domain/coder/proposal.ts";
import { workerOfHead } from "../../domain/config/configured-kinds.ts";
import {
  type CandidateFacts,
  hadWorked,
  isRedCheck,
  type Phase,
  phaseAfter,
  phaseToResume,
} from "../../domain/tasks/solve-decisions.ts";
import { type TaskStep, toPriorProgress } from "../../domain/tasks/task-steps.ts";
import { createPatience } from "../models/complete.ts";
import type { ClaimedTask, Order, SolveTask } from "../ports/tasks.ts";
import { createNews, gatherRequest, type NewsListener } from "./item-comments.ts";
import { makePlan, prepareTask } from "./prepare-task.ts";
import { createProgressReport, publishChange } from "./publish-change.ts";
import { workInDraft } from "./solve-coder.ts";
import { keepChange, orStop, type SolveDeps, SolveStop, type SolveWork } from "./solve-work.ts";

interface Candidate {
  readonly work: SolveWork;
  stop: SolveStop | null;
}

/** Several coders at once, each in a container; the project's checks choose one, and the task continues with it, even if none finished. */
async function tryCandidates(deps: SolveDeps, work: SolveWork): Promise<void> {
  const count = work.task.candidates ?? 1;
  await work.update({ phase: "work" });
  const candidates = Array.from({ length: count }, (_, i) => openCandidate(work, i + 1, count, deps.uuid()));
  try {
    await Promise.all(candidates.map((candidate) => tryCandidate(deps, candidate)));
    const facts = candidates.map(toCandidateFacts);
    const { ranked, by } = rankCoderCandidates(candidates.map(toRankedCandidate));
    const [best = 0, ...others] = ranked.map(({ place }) => place);
    const kept = candidates[best] as Candidate;
    const note = deps.messages.candidates(best + 1, facts);
    const { id: _, stepsBefore: __, ...came } = kept.work.task;
    const steps = candidates.reduce((sum, { work: one }) => sum + one.task.steps, 0);
    await work.update({
      ...came,
      id: work.task.id,
      // Only this one continues; the usage of the others does not count against its limits.
      candidates: 1,
      steps,
      stepsBefore: steps - kept.work.task.steps,
      notes: [...came.notes, note],
    });
    const discarded = others.map((place) => place + 1);
    await work.note({ kind: "chosen", candidate: best + 1, discarded, by });
    work.say(note);
    if (kept.stop !== null) throw kept.stop;
    work.environment = kept.work.environment;
    work.environmentId = kept.work.task.id;
    work.judged = true;
  } finally {
    const gone = candidates.filter((one) => one.work.task.id !== work.environmentId);
    await Promise.all(gone.map((one) => deps.environments.remove(one.work.task.id, work.claim)));
  }
}

async function tryCandidate(deps: SolveDeps, candidate: Candidate): Promise<void> {
  const { work } = candidate;
  const news = createNews(deps, work);
  try {
    await prepareTask(deps, work);
    await workInDraft(deps, work, news);
  } catch (error) {
    if (!(error instanceof SolveStop)) throw error;
    candidate.stop = error;
    await keepChange(work);
  }
}

function toCandidateFacts({ work, stop }: Candidate): CandidateFacts {
  return {
    failure: stop === null ? null : stop.kind,
    checks: work.task.checks.map((check) => (isRedCheck(check) ? check.exitCode || 1 : 0)),
    patchBytes: Math.floor((work.task.patch.length * 3) / 4),
  };
}

/** A candidate as coders of a chat are compared. An unfinished one continues from the change that it has. */
function toRankedCandidate({ work, stop }: Candidate, place: number) {
  const { patch, checks, judged = null } = work.task;
  const isRed = checks.some(isRedCheck);
  const verdict = judged?.verdict;
  const red = verdict === "still-red" || verdict === "new-failing" ? verdict : ("worse" as const);
  return {
    place,
    outcome: stop !== null ? "none" : patch === "" ? "said" : isRed ? red : ("green" as const),
    checks: judged,
    provesFix: provesFix(judged),
    // A small change does not count in favour of a candidate that did not finish.
    size: stop === null ? patch.length : -patch.length,
  } as const;
}

/** The task with a conversation and a container of its own. Nothing of it is stored but its steps. */
function openCandidate(parent: SolveWork, place: number, count: number, id: string): Candidate {
  const text = `You are one of ${count} coders who work on this task, each alone in a copy of the project. The best change is kept. Choose your own approach.`;
  const task: SolveTask = {
    ...parent.task,
    id,
    steps: 0,
    stepsBefore: 0,
    transcript: [...parent.task.transcript, { role: "user", text }],
  };
  const work: SolveWork = {
    ...parent,
    task,
    isCandidate: true,
    environment: null,
    environmentId: id,
    say: (line) => parent.say(`[${place}] ${line}`),
    note: (step) => parent.note({ ...step, candidate: place }),
    get costNoted() {
      return parent.costNoted;
    },
    set costNoted(usd) {
      parent.costNoted = usd;
    },
    async update(change) {
      work.task = { ...work.task, ...change };
      if (change.steps !== undefined) await parent.update({ steps: parent.task.steps + 1 });
    },
  };
  return { work, stop: null };
}

export interface SolveOptions {
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly onStep?: (step: TaskStep) => void;
  /** Why no container can be created: the task ends for this reason, and the item's comment states it. */
  readonly trouble?: string | null;
}

/** The problems that the coder must fix before publication. */
const FIXED_BY_WORK: ReadonlySet<string> = new Set([
  "protected-paths",
  "secret-in-change",
  "checks-red",
  "nothing-changed-red",
]);
/** Ends that do not count as failures. */
const QUIET_ENDS: ReadonlySet<string> = new Set(["nothing-changed"]);
/** After this many crashes over one task it is not tried again. */
const MOST_ATTEMPTS = 3;

type Interruption = Order | "lost";

/**
 * Carries a claimed task through its phases from its current one. In every case the change so far is kept, the container is removed and
 * the item's comment states the end. The claim stays; `lost` ends when another process owns it.
 */
async function carryOut(
  deps: SolveDeps,
  claimed: ClaimedTask,
  options: SolveOptions & { readonly lost: AbortSignal },
): Promise<SolveTask> {
  const { signal, lost } = options;
  const { task: found } = claimed;
  const stopping = new AbortController();
  const orders: { given: Interruption | null } = { given: null };
  const interrupt = (by: Interruption) => {
    orders.given = by === "lost" ? by : (orders.given ?? by);
    stopping.abort();
  };
  const stopWatching = watchStore(deps, found.id, lost, interrupt);
  const either = AbortSignal.any([signal, stopping.signal]);
  try {
    const work = await beginWork(deps, claimed, { ...options, signal: either }).catch(
      (error: unknown) => error,
    );
    if (work instanceof Error) return await cannotBegin(deps, claimed, work);
    const open = work as SolveWork;
    const report = createProgressReport(deps, open);
    const error = await runPhases(deps, open, {
      report,
      interrupt,
      giveUp:
        claimed.work.attempt > MOST_ATTEMPTS
          ? new SolveStop("given-up", String(MOST_ATTEMPTS))
          : options.trouble == null
            ? null
            : new SolveStop("container", options.trouble),
      say: options.say,
    });
    if (isLost(error)) interrupt("lost");
    const isInterrupted = () => signal.aborted && orders.given === null && error instanceof SolveStop;
    try {
      if (orders.given !== "lost") await keepChange(open);
      if (error === null) await open.update({ state: "done" });
      else if (isInterrupted()) await handBack(open);
      else await endSolve(deps, open, error, orders.given);
    } catch (late) {
      if (!isLost(late)) throw late;
      interrupt("lost");
    } finally {
      const ids = [...new Set([found.id, open.environmentId])];
      await Promise.all(ids.map((id) => deps.environments.remove(id, claimed.work)));
    }
    // The current owner reports how it ends.
    if (orders.given === "lost") return { ...open.task, state: "running" };
    await noteEnd(open);
    await report.update("now");
    return open.task;
  } finally {
    stopWatching();
  }
}

/** Asks the store for orders, and reports when another process owns the task. */
function watchStore(
  { store, config }: SolveDeps,
  taskId: string,
  lost: AbortSignal,
  interrupt: (by: Interruption) => void,
): () => void {
  const onLost = () => interrupt("lost");
  if (lost.aborted) onLost();
  lost.addEventListener("abort", onLost, { once: true });
  const ask = async () => {
    const order = await store.orderOf(taskId);
    if (order !== null) interrupt(order);
  };
  // A store that does not answer for a moment is asked again.
  const asking = setInterval(() => void ask().catch(() => {}), config.ordersEveryMs);
  return () => {
    clearInterval(asking);
    lost.removeEventListener("abort", onLost);
  };
}

/** Null if all of them finished; else why not. */
async function runPhases(
  deps: SolveDeps,
  open: SolveWork,
  {
    report,
    interrupt,
    giveUp,
    say,
  }: {
    readonly report: ReturnType<typeof createProgressReport>;
    readonly interrupt: (by: Interruption) => void;
    readonly giveUp: SolveStop | null;
    readonly say: (text: string) => void;
  },
): Promise<unknown> {
  const { clock } = deps;
  const news = createNews(deps, open);
  const endWatch = news.watch(interrupt);
  try {
    if (giveUp !== null) throw giveUp;
    for (let phase: Phase | null = open.task.phase; phase !== null; phase = phaseAfter(phase, open)) {
      await open.update({ phase });
      await open.note({ kind: "phase", phase });
      await report.update("now");
      say(deps.messages.phases[phase]);
      const since = clock();
      await runPhase(deps, open, phase, {
        look: async () => {
          await news.look();
          await report.update("soon");
        },
      });
      const spent = (open.task.spent[phase] ?? 0) + clock() - since;
      await open.update({ spent: { ...open.task.spent, [phase]: spent } });
    }
    return null;
  } catch (error) {
    return error ?? new Error("no reason was given");
  } finally {
    endWatch();
  }
}

function isLost(error: unknown): boolean {
  return error instanceof SolveStop && error.kind === "lost";
}

async function beginWork(
  deps: SolveDeps,
  { task: found, work: claim }: ClaimedTask,
  { signal, say, onStep }: SolveOptions,
): Promise<SolveWork> {
  const { store, keeper, forge, now, clock, pause, config } = deps;
  const [bot, item, repository] = await Promise.all([
    orStop(forge.whoAmI(signal)),
    orStop(forge.readItem(found.item, signal)),
    orStop(forge.readRepository(found.item.repository, signal)),
  ]);
  const soFar = toPriorProgress(await store.steps(found.id));
  const work: SolveWork = {
    task: found,
    claim,
    soFar,
    signal,
    say,
    bot,
    item,
    repository,
    environment: null,
    since: found.updatedAt,
    judged: false,
    environmentId: found.id,
    isCandidate: false,
    costNoted: 0,
    worked: hadWorked(found.phase) && !FIXED_BY_WORK.has(found.failure?.kind ?? ""),
    patience: createPatience({
      limitMs: config.patienceMs,
      clock,
      pause,
      onWait: ({ code, message }, waitMs) => {
        if (waitMs > 0) say(`${message} (${Math.ceil(waitMs / 1000)} s)`);
        void work.note({ kind: "waited", code, waitMs }).catch(() => {});
      },
    }),
    async note(facts) {
      const step = { ...facts, at: now().toISOString() };
      onStep?.(step);
      await store.note(found.id, step, claim);
    },
    async update(change) {
      work.task = { ...work.task, ...change, updatedAt: now().toISOString() };
      const saved = await keeper.end(async () => ((await store.save(work.task, claim)) ? "done" : "lost"));
      if (saved === "lost") throw new SolveStop("lost");
      if (saved === "unknown") throw new SolveStop("stopped");
    },
  };
  await store.order(found.id, null);
  const byHead = found.worker === null ? workerOfHead(config.head) : null;
  await work.note({
    kind: "taken-up",
    again: found.transcript.length > 0,
    ...(byHead !== null && { head: byHead }),
  });
  await work.update({
    state: "running",
    ...(byHead !== null && { worker: byHead }),
    notes: [...new Set([...found.notes, ...headNotes(deps, found)])],
    failure: null,
    phase: phaseToResume(found.phase),
    // The steps are what happened; a process that died may have stored less.
    ...(soFar !== null && {
      steps: soFar.answers,
      stepsBefore: soFar.answersBefore,
      commands: soFar.commands,
    }),
  });
  return work;
}

/** Who works in place of the user's own agent, for the result. */
function headNotes({ config: { head }, messages }: SolveDeps, { worker }: SolveTask): readonly string[] {
  if (worker !== null || head === null) return [];
  const kind = workerOfHead(head);
  return [kind === null ? messages.headElsewhere(head) : messages.byHead(kind)];
}

function runPhase(deps: SolveDeps, work: SolveWork, phase: Phase, news: NewsListener): Promise<void> {
  switch (phase) {
    case "gather":
      return gatherRequest(deps, work);
    case "plan":
      return makePlan(deps, work);
    case "prepare":
      return (work.task.candidates ?? 1) > 1 ? tryCandidates(deps, work) : prepareTask(deps, work);
    case "work":
      return workInDraft(deps, work, news);
    case "verify":
      // The draft loop judges its own result; a task that is resumed after its work was done is judged here.
      return work.judged ? Promise.resolve() : workInDraft(deps, work, news);
    case "publish":
      return publishChange(deps, work);
  }
}

/** This process ends, not the task: `serve` resumes it by itself, `solve` when it is called again. */
function handBack({ task, update }: SolveWork): Promise<void> {
  return update({ state: task.trigger === "hand" ? "paused" : "waiting", failure: null });
}

async function endSolve(
  deps: SolveDeps,
  work: SolveWork,
  error: unknown,
  order: Interruption | null,
): Promise<void> {
  const { messages, log, mask } = deps;
  const stop =
    order === null
      ? error
      : new SolveStop(order === "stop" ? "stopped" : order === "pause" ? "paused" : order);
  if (!(stop instanceof SolveStop)) {
    await work.update({ state: "failed", failure: { kind: "bug", message: messages.failure("bug", "") } });
    throw stop;
  }
  const { kind, detail } = stop;
  const isFailed = !QUIET_ENDS.has(kind) && kind !== "lost" && kind !== "paused" && kind !== "stopped";
  log[isFailed ? "error" : "info"]("solve", "solve.ended", "solve.ended", {
    task_id: work.task.id,
    kind,
    detail: mask(detail),
  });
  const message = mask(messages.failure(kind, detail));
  // The process that took it over writes its state from now on.
  if (kind === "lost") return;
  if (kind === "paused") return work.update({ state: "paused", failure: null });
  if (kind === "stopped") return work.update({ state: "stopped", failure: { kind, message } });
  await work.update({ state: isFailed ? "failed" : "done", failure: { kind, message } });
}

function noteEnd({ task, note }: SolveWork): Promise<void> {
  const { state, failure } = task;
  return note({ kind: "ended", state, code: failure?.kind ?? null, message: failure?.message ?? "" });
}

/** The forge itself fails, so nothing can be posted there. */
async function cannotBegin(
  deps: SolveDeps,
  { task: found, work: claim }: ClaimedTask,
  error: Error,
): Promise<SolveTask> {
  if (!(error instanceof SolveStop)) throw error;
  const message = deps.mask(deps.messages.failure(error.kind, error.detail));
  // Nothing was begun: an interrupt leaves it as it was.
  if (error.kind === "stopped" || error.kind === "lost") return found;
  const task = { ...found, state: "failed", failure: { kind: error.kind, message } } as const;
  await deps.store.save(task, claim);
  return task;
}

const AFTER_TROUBLE_MS = 5_000;

/** Claims one task and carries it out in this process. Null when another process works on it. */
export async function solveTask(
  deps: SolveDeps,
  taskId: string,
  options: SolveOptions,
): Promise<SolveTask | null> {
  const claimed = await deps.store.claimOwn(taskId);
  return claimed === null ? null : solveClaimed(deps, claimed, options);
}

/** Carries out a claimed task and ends the claim: the task is finished, or continues at once elsewhere. */
export async function solveClaimed(
  deps: SolveDeps,
  claimed: ClaimedTask,
  options: SolveOptions,
): Promise<SolveTask> {
  const { keeper } = deps;
  const { work } = claimed;
  const lost = keeper.hold(work);
  try {
    const ended = await carryOut(deps, claimed, { ...options, lost });
    await endClaim(deps, claimed, { begun: false });
    return ended;
  } catch (error) {
    await deps.pause(AFTER_TROUBLE_MS, options.signal);
    await endClaim(deps, claimed, { begun: true });
    throw error;
  } finally {
    keeper.drop(work);
  }
}

/** The task's state in the store decides: a process may have failed before or after it was written. */
async function endClaim(
  { store, keeper }: SolveDeps,
  { task: { id }, work }: ClaimedTask,
  { begun }: { readonly begun: boolean },
): Promise<void> {
  await keeper.end(async () => {
    const task = await store.find(id);
    if (task?.state === "waiting" || task?.state === "running") return store.handBack(work, { begun });
    return store.finish(work, task?.failure?.kind === "given-up" ? task.failure.message : undefined);
  });
}
