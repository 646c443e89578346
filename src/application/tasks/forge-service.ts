import type { Config } from "../../config/config.ts";
import { FORGE_KINDS, type ForgeKind } from "../../domain/config/configured-kinds.ts";
import { forgeSites, itemUrl, parseItemUrl } from "../../domain/forges/forge-items.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import { traceparentOfTask } from "../../domain/platform/traceparent.ts";
import type { TaskStep } from "../../domain/tasks/task-steps.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import type { FleetStore } from "../ports/fleet.ts";
import type { Forge, ForgeFailure, IntakeEvent, IntakeOutcome } from "../ports/forges.ts";
import type { BudgetNotice } from "../ports/models-meter.ts";
import type { Logger, Span, Timers, Tracing } from "../ports/platform.ts";
import type { NewReply } from "../ports/serve.ts";
import type {
  ClaimedEvent,
  ClaimedTask,
  ForgeEvents,
  OpenSolve,
  SolveStore,
  SolveTask,
} from "../ports/tasks.ts";
import { createWorkTaker, pause, type WorkKeeper } from "../serve/take-work.ts";
import { type IntakeDeps, pollRepository, takeInEvent, takeInTask } from "./intake.ts";
import { type SolveOptions, solveClaimed } from "./solve-task.ts";
import type { SolveDeps } from "./solve-work.ts";

interface TaskSolver {
  readonly config: Pick<Config, "tasks" | "forges">;
  readonly store: SolveStore;
  /** Why no container can be made now, for a person; null when one can. */
  engineTrouble(signal: AbortSignal): Promise<string | null>;
}

export interface SolveByHandDeps extends TaskSolver {
  readonly texts: SolveMessages;
  readonly workerKinds: readonly string[];
  /** A text names the variable that is missing. */
  openForge(kind: ForgeKind, onWait: (failure: ForgeFailure, ms: number) => void): Promise<Forge | string>;
  run(forge: Forge, taskId: string, options: SolveOptions): Promise<SolveTask | null>;
  uuid(): string;
  now(): Date;
}

/** `solve URL`: accepts an item and works on it in this process. */
export function createSolveByHand(deps: SolveByHandDeps): OpenSolve["solve"] {
  const { config, texts, store, run } = deps;
  const refused = (exitCode: 2 | 3, message: string) => ({ status: "refused", exitCode, message }) as const;
  return async ({ url, worker: kind, candidates, fresh, signal, say, onStep }) => {
    const item = parseItemUrl(url, forgeSites(config.forges));
    if (item === null) return refused(2, texts.notAnItem(url));
    if (kind !== null && !deps.workerKinds.includes(kind))
      return refused(2, texts.unknownWorker(kind, deps.workerKinds));
    const forge = await deps.openForge(item.forge, ({ message }, ms) =>
      say(`${message} (${Math.ceil(ms / 1000)} s)`),
    );
    if (typeof forge === "string") return refused(3, texts.noToken(item.forge, forge));
    const trouble = await deps.engineTrouble(signal);
    const { task, began } = await takeInTask(
      { store, now: deps.now, uuid: deps.uuid },
      { item, askedBy: "hand", trigger: "hand", worker: kind, candidates, fresh },
    );
    say(began === "new" ? texts.started(itemUrl(item)) : texts.resumed(itemUrl(item)));
    const ended = await run(forge, task.id, {
      signal,
      say,
      ...(onStep !== undefined && { onStep }),
      trouble,
    });
    if (ended === null) return refused(3, texts.alreadyRunning(itemUrl(item)));
    if (trouble !== null) {
      const forgeTrouble = ended.failure?.kind === "container" ? undefined : ended.failure?.message;
      return refused(3, [trouble, forgeTrouble].filter((text) => text !== undefined).join("\n"));
    }
    return { status: "ended", task: ended, steps: await store.steps(ended.id) };
  };
}

export interface ForgeServiceDeps extends TaskSolver {
  readonly forges: ReadonlyMap<ForgeKind, Forge>;
  readonly log: Logger;
  solveDeps(forge: Forge, taskId: string): Promise<SolveDeps>;
  readonly tellEnd: NotifyTaskEnd;
  readonly limit: number;
  /** The labels of this machine: it takes work that needs no others. */
  readonly labels: readonly string[];
  /** The other machines, which get the tasks while this one's engine is unavailable. */
  readonly fleet: Pick<FleetStore, "machines">;
  readonly machineId: string;
  /** Whether it also accepts new ones: polls the forges, and acts on their deliveries. */
  readonly acceptsNew: boolean;
  readonly events: EventActorDeps["events"];
  readonly keeper: EventActorDeps["keeper"];
  /** Calls back when a delivery may wait; the answer stops that. */
  onEvents(wake: () => void): () => void;
  readonly telemetry: Pick<TraceTaskDeps, "tracing" | "tracer"> | null;
  onWork(wake: () => void): () => void;
  readonly timers: Timers;
  clock(): number;
  uuid(): string;
  readonly onTrouble: (error: unknown) => void;
}

export type ForgeService = ReturnType<typeof createForgeService>;

/** An engine that takes longer to answer counts as unavailable. */
const ENGINE_MS = 5_000;

/** Tasks from forges while serving: receives them, polls for them and carries them out. */
export function createForgeService(deps: ForgeServiceDeps) {
  const { config, store, forges, telemetry, timers } = deps;
  const { now } = timers;
  const gate = createTaskGate({
    ...deps,
    needs: config.tasks.needs,
    engineTrouble: () => deps.engineTrouble(AbortSignal.timeout(ENGINE_MS)),
  });
  const runner = createTaskRunner({
    store: { claim: async (has) => ((await gate.mayTake()) ? store.claim(has) : null) },
    limit: deps.limit,
    has: [...deps.labels, ...[...forges.keys()].map((kind) => `forge:${kind}`)],
    timers,
    run: async (claimed, signal) => {
      const { task } = claimed;
      const solveDeps = await deps.solveDeps(forges.get(task.item.forge) as Forge, task.id);
      const solve = () => solveClaimed(solveDeps, claimed, { signal, say: () => {} });
      const ended =
        telemetry === null
          ? await solve()
          : await traceTask({ ...telemetry, steps: store.steps, now }, task, solve);
      await deps.tellEnd(ended, solveDeps.budgetNotices?.() ?? []);
    },
    onTrouble: deps.onTrouble,
  });
  const intakeOf = (forge: Forge): IntakeDeps => ({
    forge,
    store,
    label: config.tasks.label,
    needs: config.tasks.needs,
    log: deps.log,
    now,
    uuid: deps.uuid,
    onDue: () => runner.wake(),
  });
  const ends: (() => void)[] = [];
  const actor = createEventActor({ ...deps, intakeOf });
  return {
    /** Stores an event that a forge delivered; it is acted on afterwards. */
    takeIn: actor.accept,
    lacking: gate.lacking,
    async start() {
      await store.adopt();
      ends.push(deps.onWork(runner.wake));
      runner.wake();
      if (deps.acceptsNew) {
        await deps.events.adopt();
        ends.push(deps.onEvents(actor.wake));
        actor.wake();
      }
      for (const kind of FORGE_KINDS) {
        const forge = forges.get(kind);
        if (!deps.acceptsNew || forge === undefined) continue;
        ends.push(startPolling(intakeOf(forge), config.forges[kind], deps.onTrouble));
      }
    },
    /** Ends running tasks; they continue at the next start. */
    async stop() {
      for (const end of ends) end();
      await Promise.all([actor.stop(), runner.stop()]);
    },
  };
}

/** Covers messages from a time when no process served. Those already taken in are known by their names. */
const FIRST_LOOK_BACK_MS = 24 * 3600 * 1000;
/** A forge's lists lag behind, and its clock differs. */
const OVERLAP_MS = 5 * 60_000;

function startPolling(
  intake: IntakeDeps,
  { repositories, poll_interval: seconds }: Config["forges"][ForgeKind],
  onTrouble: (error: unknown) => void,
): () => void {
  if (seconds === 0 || repositories.length === 0) return () => {};
  const stopping = new AbortController();
  let lookedAt = intake.now().getTime() - FIRST_LOOK_BACK_MS;
  const look = async () => {
    const since = new Date(lookedAt - OVERLAP_MS);
    const at = intake.now().getTime();
    const taken: IntakeOutcome[] = [];
    for (const repository of repositories)
      taken.push(...(await pollRepository(intake, { repository, since, signal: stopping.signal })));
    // Events that a forge did not report now are asked for again.
    if (taken.every(({ did }) => did !== "failed")) lookedAt = at;
  };
  const poll = () => void look().catch(onTrouble);
  poll();
  const timer = setInterval(poll, seconds * 1000);
  return () => {
    stopping.abort();
    clearInterval(timer);
  };
}

interface TraceTaskDeps {
  readonly tracing: Tracing;
  /** Model calls of a task belong to this span, until a later call changes that. */
  readonly tracer: { follow(taskId: string, span: Span | null): void };
  readonly steps: (taskId: string) => Promise<readonly TaskStep[]>;
  readonly now: () => Date;
}

/** Traces a task: its wait, and its run with phases, commands, checks and model calls. All runs of a task are one trace. */
export async function traceTask<Ended extends Pick<SolveTask, "state" | "phase"> | null>(
  { tracing, tracer, steps, now }: TraceTaskDeps,
  task: Pick<SolveTask, "id" | "item" | "createdAt" | "trigger">,
  run: () => Promise<Ended>,
): Promise<Ended> {
  const begun = now();
  const root = traceparentOfTask(task.id);
  const facts = { "picoclaw.task_id": task.id, forge: task.item.forge, trigger: task.trigger };
  const known = await steps(task.id).catch(() => []);
  if (root !== null && known.length === 0)
    tracing.begin("queue wait", { as: root, at: new Date(task.createdAt), facts }).end();
  const span = tracing.begin("task", { parent: root ?? undefined, at: begun, kind: "consumer", facts });
  tracer.follow(task.id, span);
  try {
    const ended = await run();
    span.end({
      facts: { state: ended?.state, phase: ended?.phase },
      error: ended?.state === "failed" ? "failed" : undefined,
    });
    return ended;
  } catch (error) {
    span.end({ error: "broken" });
    throw error;
  } finally {
    tracer.follow(task.id, null);
    const all = await steps(task.id).catch(() => []);
    traceSteps(tracing, span, all.slice(known.length), now());
  }
}

function traceSteps(tracing: Tracing, parent: Span, steps: readonly TaskStep[], ended: Date): void {
  const { traceparent } = parent;
  const phases = steps.filter((step) => step.kind === "phase");
  for (const [n, { phase, at }] of phases.entries()) {
    const until = phases[n + 1]?.at;
    tracing
      .begin(`phase ${phase}`, { parent: traceparent, at: new Date(at) })
      .end({ at: until === undefined ? ended : new Date(until) });
  }
  for (const step of steps) {
    if (step.kind !== "command" && step.kind !== "checked") continue;
    const { at, durationMs, exitCode, candidate } = step;
    const end = new Date(at);
    const facts = { exit_code: exitCode, candidate };
    tracing
      .begin(step.kind === "command" ? "task command" : "check", {
        parent: traceparent,
        at: new Date(end.getTime() - durationMs),
        facts,
      })
      .end({ at: end, error: exitCode === 0 ? undefined : "failed" });
  }
}

interface EventActorDeps {
  readonly events: ForgeEvents;
  readonly forges: ReadonlyMap<ForgeKind, Forge>;
  readonly intakeOf: (forge: Forge) => IntakeDeps;
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
  readonly log: IntakeDeps["log"];
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const AT_ONCE = 4;
const RETRY_MS = [5_000, 15_000, 60_000];
const LONGEST_RETRY_MS = 300_000;
/** An older event is dropped: its sender has sent it again by now. */
const GIVEN_UP_AFTER_MS = 24 * 3600 * 1000;

/** Acts on accepted events, and retries a forge that does not answer. */
export function createEventActor(deps: EventActorDeps) {
  const { events, forges, keeper, log, timers } = deps;
  const stopping = new AbortController();
  const kinds = [...forges.keys()];

  async function claim(): Promise<ClaimedEvent | null> {
    for (const kind of kinds) {
      const claimed = await events.claim(kind);
      if (claimed !== null) return claimed;
    }
    return null;
  }

  async function actOn({ event }: ClaimedEvent, signal: AbortSignal): Promise<IntakeOutcome> {
    const intake = deps.intakeOf(forges.get(event.item.forge) as Forge);
    const firstSight = (id: string, at: Date) => events.firstSight(event.deliveryId, id, at);
    try {
      return await takeInEvent({ ...intake, store: { ...intake.store, firstSight } }, event, signal);
    } catch (error) {
      // The store, for instance: the event is still claimed, so no other process would act on it.
      deps.onTrouble(error);
      return { did: "failed", why: toErrorText(error) };
    }
  }

  function say(level: "warn" | "error", name: string, { event }: ClaimedEvent, fields: object): void {
    log[level]("solve", name, name, { item: itemUrl(event.item), kind: event.event.kind, ...fields });
  }

  const taker = createWorkTaker<ClaimedEvent>({
    claim,
    limit: AT_ONCE,
    perGroup: AT_ONCE,
    timers,
    onTrouble: deps.onTrouble,
    async run(claimed, lane) {
      const { work, receivedAt } = claimed;
      const signal = AbortSignal.any([keeper.hold(work), stopping.signal]);
      try {
        for (let tries = 0; !signal.aborted; tries += 1) {
          const taken = await actOn(claimed, signal);
          if (taken.did !== "failed") return void (await keeper.end(() => events.finish(work)));
          if (timers.now().getTime() - receivedAt.getTime() > GIVEN_UP_AFTER_MS) {
            say("error", "solve.event_given_up", claimed, { error: taken.why });
            return void (await keeper.end(() => events.finish(work)));
          }
          if (signal.aborted) break;
          const waitMs = RETRY_MS[tries] ?? LONGEST_RETRY_MS;
          say("warn", "solve.event_waits", claimed, { error: taken.why, retry_ms: waitMs });
          await lane.rest(pause(timers, waitMs, signal));
        }
        await keeper.end(() => events.handBack(work));
      } finally {
        keeper.drop(work);
      }
    },
  });

  return {
    /** Stores an event before its delivery is acknowledged: the forge is asked afterwards, however long that takes. */
    async accept(event: IntakeEvent): Promise<IntakeOutcome> {
      if (!(await events.keep(event, timers.now()))) return { did: "nothing", why: "seen already" };
      taker.look();
      return { did: "kept" };
    },
    wake: taker.look,
    /** Gives back the events that wait for their forge. */
    async stop(): Promise<void> {
      taker.close();
      stopping.abort();
      await taker.idle();
    },
  };
}

export interface TaskRunnerDeps {
  readonly store: Pick<SolveStore, "claim">;
  readonly limit: number;
  /** The capabilities of this process: labels, and the forges it may ask. */
  readonly has: readonly string[];
  /** Ends the claim before it resolves. */
  readonly run: (claimed: ClaimedTask, signal: AbortSignal) => Promise<void>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** Works on tasks that wait, oldest first, a few at a time. */
export function createTaskRunner(deps: TaskRunnerDeps) {
  const { store, limit, has, timers, onTrouble } = deps;
  const stopping = new AbortController();
  const taking = createWorkTaker<ClaimedTask>({
    // Tasks need a lane.
    claim: async ({ lightOnly = false, notGroups = [] }) =>
      lightOnly || notGroups.length > 0 ? null : store.claim(has),
    run: (claimed) => deps.run(claimed, stopping.signal),
    limit,
    perGroup: limit,
    timers,
    onTrouble,
  });
  return {
    wake: taking.look,
    /** Ends what runs and waits for it; nothing begins afterwards. */
    async stop(): Promise<void> {
      taking.close();
      stopping.abort();
      await taking.idle();
    },
  };
}

export interface TaskGateDeps {
  readonly fleet: Pick<FleetStore, "machines">;
  readonly machineId: string;
  /** Labels that a task needs beside the engine's. */
  readonly needs: readonly string[];
  readonly engineTrouble: () => Promise<string | null>;
  readonly clock: () => number;
}

const GATE_HOLDS_MS = 3_000;
const ENGINE = "docker";

/** A machine without an engine leaves tasks to one that meets their needs. If there is none, it takes them to report that. */
export function createTaskGate(deps: TaskGateDeps) {
  const { fleet, machineId, clock } = deps;
  const needs = [ENGINE, ...deps.needs];
  const engine = { answers: true, askedAt: Number.NEGATIVE_INFINITY };

  async function ask(): Promise<boolean> {
    if (clock() - engine.askedAt >= GATE_HOLDS_MS) {
      engine.askedAt = clock();
      engine.answers = (await deps.engineTrouble()) === null;
    }
    return engine.answers;
  }
  return {
    async mayTake(): Promise<boolean> {
      if (await ask()) return true;
      const machines = await fleet.machines();
      return !machines.some(
        ({ id, here, processes }) =>
          id !== machineId &&
          here &&
          processes.some(
            ({ labels, draining }) => !draining && needs.every((label) => labels.includes(label)),
          ),
      );
    },
    /** Labels of this machine that do not hold now; the others read it with the next beat. */
    lacking(): readonly string[] {
      if (engine.answers) return [];
      // Nothing else checks the engine while no task arrives.
      void ask().catch(() => {});
      return [ENGINE];
    },
  };
}

export interface NotifyTaskEndDeps {
  /** `<channel>:<chatId>`; null: no chat is notified. */
  readonly chat: () => string | null;
  readonly post: (reply: NewReply) => Promise<void>;
  readonly solveWords: () => SolveMessages;
  readonly chatWords: () => ChatMessages;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** Notifies a chat that a task is finished or has failed, with the remaining budget. Other ends were requested by a person. */
export type NotifyTaskEnd = (task: SolveTask, budget: readonly BudgetNotice[]) => Promise<void>;

export function createNotifyTaskEnd(deps: NotifyTaskEndDeps): NotifyTaskEnd {
  return async (task, budget) => {
    const chat = deps.chat();
    if (chat === null || (task.state !== "done" && task.state !== "failed")) return;
    const at = chat.indexOf(":");
    const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
    const since = deps.now().toISOString();
    const lines = [...endLines(task, task.state, deps.solveWords()), ...budget.map(deps.chatWords().budget)];
    await deps.post({
      key: deps.uuid(),
      messageId: null,
      channel,
      chatId,
      userId: chatId,
      content: { kind: "notice", text: lines.join("\n") },
      since,
      at: since,
    });
  };
}

function endLines(task: SolveTask, state: "done" | "failed", words: SolveMessages): string[] {
  const { title, item, failure, pull, checks } = task;
  return [
    // An item that could not be read has no title.
    title === "" ? words.ended[state] : `${words.ended[state]}: ${title}`,
    itemUrl(item),
    ...(failure === null ? [] : [failure.message]),
    ...(pull === null ? [] : [words.pullOpened(pull.url)]),
    ...(pull !== null && checks.length === 0 ? [words.verdicts.unchecked] : []),
  ];
}
