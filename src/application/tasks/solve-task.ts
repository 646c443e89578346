import { hadWorked, type Phase, phaseAfter, phaseToResume } from "../../domain/tasks/solve/phase.ts";
import { soFarOf } from "../../domain/tasks/solve/so-far.ts";
import type { TaskStep } from "../../domain/tasks/step.ts";
import { createPatience } from "../models/patience.ts";
import type { Order, SolveTask } from "../ports/solve-store.ts";
import { gather } from "./gather.ts";
import { keepChange } from "./keep-change.ts";
import { makePlan } from "./make-plan.ts";
import { createNews, type News } from "./news.ts";
import { prepareTask } from "./prepare-task.ts";
import { createProgressReport } from "./progress-comment.ts";
import { publishChange } from "./publish-change.ts";
import type { SolveParts, Work } from "./solve-parts.ts";
import { orStop, SolveStop } from "./solve-stop.ts";
import { tryCandidates } from "./try-candidates.ts";
import { verify } from "./verify.ts";
import { workLoop } from "./work-loop.ts";
import { workerRun } from "./worker-run.ts";

export interface SolveOptions {
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** What happens, as it happens. */
  readonly onStep?: (step: TaskStep) => void;
}

const LEASE_MS = 60_000;
/** What the coder must mend before it can be published. */
const MENDED_BY_WORK: ReadonlySet<string> = new Set([
  "protected-paths",
  "secret-in-change",
  "checks-red",
  "nothing-changed-red",
]);
/** Ends that are no failures. */
const QUIET_ENDS: ReadonlySet<string> = new Set(["nothing-changed"]);

/**
 * Carries a task through its phases from where it stands: gather → plan → prepare → work → verify → publish. Whatever
 * happens, the change so far is kept for the next time, the container is removed and the item's comment says how it
 * ended. Null when another process works on it.
 */
export async function solveTask(
  parts: SolveParts,
  taskId: string,
  options: SolveOptions,
): Promise<SolveTask | null> {
  const { signal, say } = options;
  const { store, owner, now, clock } = parts;
  const until = () => new Date(now().getTime() + LEASE_MS);
  if (!(await store.lease({ id: taskId, owner, now: now(), until: until(), isGone: parts.isGone })))
    return null;
  const found = await store.find(taskId);
  if (found === null) return null;
  const stopping = new AbortController();
  const orders: { given: Order | "lost-lease" | null } = { given: null };
  const renew = async () => {
    const { held, order } = await store.renew(taskId, owner, until());
    orders.given = held ? (orders.given ?? order) : "lost-lease";
    if (orders.given !== null) stopping.abort();
  };
  // A store that does not answer for a moment is asked again; one that stays away ends the lease by itself.
  const renewing = setInterval(() => void renew().catch(() => {}), parts.config.renewEveryMs);
  const either = AbortSignal.any([signal, stopping.signal]);
  const work = await begin(parts, found, { ...options, signal: either }).catch((error: unknown) => error);
  try {
    if (work instanceof Error) return await cannotBegin(parts, found, work);
    const open = work as Work;
    const report = createProgressReport(parts, open);
    const news = createNews(parts, open);
    const endWatch = news.watch((order) => {
      orders.given ??= order;
      stopping.abort();
    });
    try {
      for (let phase: Phase | null = open.task.phase; phase !== null; phase = phaseAfter(phase, open)) {
        await open.update({ phase });
        await open.note({ kind: "phase", phase });
        await report.update("now");
        say(parts.messages.phases[phase]);
        const since = clock();
        await runPhase(parts, open, phase, {
          look: async () => {
            await news.look();
            await report.update("soon");
          },
        });
        const spent = (open.task.spent[phase] ?? 0) + clock() - since;
        await open.update({ spent: { ...open.task.spent, [phase]: spent } });
      }
      await open.update({ state: "done" });
    } catch (error) {
      if (signal.aborted && orders.given === null && error instanceof SolveStop) await handBack(open);
      else await end(parts, open, error, orders.given);
    } finally {
      endWatch();
      try {
        if (orders.given !== "lost-lease") await keepChange(open);
      } finally {
        await Promise.all([...new Set([taskId, open.environmentId])].map(parts.environments.remove));
      }
    }
    if (orders.given !== "lost-lease") {
      await noteEnd(open);
      await report.update("now");
    }
    return open.task;
  } finally {
    clearInterval(renewing);
    await store.release(taskId, owner);
  }
}

async function begin(
  parts: SolveParts,
  found: SolveTask,
  { signal, say, onStep }: SolveOptions,
): Promise<Work> {
  const { store, forge, now, clock, pause, config } = parts;
  const [bot, item, repository] = await Promise.all([
    orStop(forge.whoAmI(signal)),
    orStop(forge.readItem(found.item, signal)),
    orStop(forge.readRepository(found.item.repository, signal)),
  ]);
  const soFar = soFarOf(await store.steps(found.id));
  const work: Work = {
    task: found,
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
    worked: hadWorked(found.phase) && !MENDED_BY_WORK.has(found.failure?.kind ?? ""),
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
      await store.note(found.id, step);
    },
    async update(change) {
      work.task = { ...work.task, ...change, updatedAt: now().toISOString() };
      await store.save(work.task);
    },
  };
  await store.order(found.id, null);
  await work.note({ kind: "taken-up", again: found.transcript.length > 0 });
  await work.update({
    state: "running",
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

function runPhase(parts: SolveParts, work: Work, phase: Phase, news: News): Promise<void> {
  switch (phase) {
    case "gather":
      return gather(parts, work);
    case "plan":
      return makePlan(parts, work);
    case "prepare":
      return (work.task.candidates ?? 1) > 1
        ? tryCandidates(parts, work, { doWork: (one, heard) => doWork(parts, one, heard), uuid: parts.uuid })
        : prepareTask(parts, work);
    case "work":
      return doWork(parts, work, news);
    case "verify":
      return verify(parts, work, () => doWork(parts, work, news));
    case "publish":
      return publishChange(parts, work);
  }
}

function doWork(parts: SolveParts, work: Work, news: News): Promise<void> {
  return work.task.worker === null ? workLoop(parts, work, news) : workerRun(parts, work, news);
}

/** This process ends, not the task: `serve` takes it up again by itself, `solve` when it is called again. */
function handBack({ task, update }: Work): Promise<void> {
  return update({ state: task.trigger === "hand" ? "paused" : "waiting", failure: null });
}

async function end(
  parts: SolveParts,
  work: Work,
  error: unknown,
  order: Order | "lost-lease" | null,
): Promise<void> {
  const { messages, log, mask } = parts;
  const stop =
    order === null
      ? error
      : new SolveStop(order === "stop" ? "stopped" : order === "pause" ? "paused" : order);
  if (!(stop instanceof SolveStop)) {
    await work.update({ state: "failed", failure: { kind: "bug", message: messages.failure("bug", "") } });
    throw stop;
  }
  const { kind, detail } = stop;
  log.info("solve", "solve.ended", "solve.ended", { task_id: work.task.id, kind, detail: mask(detail) });
  const message = mask(messages.failure(kind, detail));
  // Whoever took it over writes its state from now on.
  if (kind === "lost-lease") return;
  if (kind === "paused") return work.update({ state: "paused", failure: null });
  if (kind === "stopped") return work.update({ state: "stopped", failure: { kind, message } });
  const state = QUIET_ENDS.has(kind) ? "done" : "failed";
  await work.update({ state, failure: { kind, message } });
}

function noteEnd({ task, note }: Work): Promise<void> {
  const { state, failure } = task;
  return note({ kind: "ended", state, code: failure?.kind ?? null, message: failure?.message ?? "" });
}

/** The forge itself is what fails: nothing can be told there. */
async function cannotBegin(parts: SolveParts, found: SolveTask, error: Error): Promise<SolveTask> {
  if (!(error instanceof SolveStop)) throw error;
  const message = parts.mask(parts.messages.failure(error.kind, error.detail));
  // Nothing was begun: an interrupt leaves it as it was.
  if (error.kind === "stopped") return found;
  const task = { ...found, state: "failed", failure: { kind: error.kind, message } } as const;
  await parts.store.save(task);
  return task;
}
