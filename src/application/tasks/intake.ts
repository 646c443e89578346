import {
  commentDeliveryId,
  type ItemRef,
  itemUrl,
  openedDeliveryId,
} from "../../domain/forges/forge-items.ts";
import { type ForgeEvent, readWantedAction } from "../../domain/forges/trigger.ts";
import type {
  Forge,
  ForgeRequest,
  ForgeSaid,
  ForgeUser,
  IntakeEvent,
  IntakeOutcome,
} from "../ports/forges.ts";
import type { Logger } from "../ports/platform.ts";
import type { SolveStore, SolveTask } from "../ports/tasks.ts";

interface HeardRequest {
  readonly bot: ForgeUser;
  readonly deliveryId: string;
  readonly item: ItemRef;
  readonly event: ForgeEvent;
  readonly signal: AbortSignal;
}

/** Forges report times in whole seconds, and those of an event and its item may differ by one. */
const SAME_MS = 2000;

interface ServedRequestDeps {
  readonly forge: Forge;
  readonly store: SolveStore;
  readonly label: string;
  readonly now: () => Date;
}

/**
 * Whether a label or an assignment already started its task, by the other of webhook and polling. A webhook does not name the forge's
 * event, so the forge is asked. Where its list lags behind, a webhook is accepted, and polling is compared with the last task's time.
 */
async function wasServed(deps: ServedRequestDeps, heard: HeardRequest): Promise<boolean> {
  const { forge, store, label, now } = deps;
  const { bot, deliveryId, item, event, signal } = heard;
  if (event.kind !== "labeled" && event.kind !== "assigned") return false;
  const asked = await forge.findRequest(item, { label, assignee: bot.login }, signal);
  if (!asked.ok || asked.value === null) return false;
  const request = asked.value;
  if (request.id === deliveryId) return wasTakenIn(store, item, request);
  const isFirst = await store.firstSight(request.id, now());
  return !isFirst && isSameRequest(request, event);
}

function isSameRequest({ kind, actor, at }: ForgeRequest, event: ForgeEvent): boolean {
  if (event.at === undefined || kind !== event.kind) return false;
  const is = actor.toLowerCase() === event.actor.toLowerCase();
  return is && Date.parse(at) >= Date.parse(event.at) - SAME_MS;
}

/** A task that was asked for later served it as well. A task that was started by hand says nothing about a label. */
async function wasTakenIn(store: SolveStore, item: ItemRef, { at }: ForgeRequest): Promise<boolean> {
  const last = await store.findLast(item);
  if (last === null || last.trigger === "hand") return false;
  return Date.parse(at) <= Date.parse(last.askedAt ?? last.createdAt);
}

export interface TakeInRequest
  extends Pick<SolveTask, "item" | "askedBy" | "worker" | "candidates" | "needs"> {
  readonly trigger: SolveTask["trigger"];
  /** Starts over even if an earlier task of the item left something to continue from. */
  readonly fresh?: boolean;
}

const UNFINISHED: ReadonlySet<SolveTask["state"]> = new Set(["failed", "stopped"]);

/** Began `new`, `again` (an unfinished task continues from what it kept), or `already`: the item has a live task. */
export async function takeInTask(
  { store, now, uuid }: { readonly store: SolveStore; readonly now: () => Date; readonly uuid: () => string },
  { item, askedBy, trigger, worker, candidates = 1, needs = [], fresh = false }: TakeInRequest,
) {
  const at = now().toISOString();
  const last = fresh ? null : await store.findLast(item);
  if (last !== null && UNFINISHED.has(last.state)) {
    const again = {
      ...last,
      state: "waiting",
      askedBy,
      askedAt: at,
      trigger,
      worker,
      updatedAt: at,
    } as const;
    const task = { ...again, candidates, needs, stepsBefore: last.steps, notes: [], checks: [] };
    if (await store.reopen(task)) return { task, began: "again" };
  }
  const opened = await store.open({
    id: uuid(),
    item,
    state: "waiting",
    phase: "gather",
    createdAt: at,
    updatedAt: at,
    askedBy,
    askedAt: at,
    trigger,
    worker,
    candidates,
    needs,
    title: "",
    branch: null,
    attempt: 1,
    base: null,
    pushed: null,
    pull: null,
    commentId: null,
    plan: null,
    environment: null,
    transcript: [],
    steps: 0,
    commands: [],
    checks: [],
    summary: "",
    patch: "",
    seen: [],
    failure: null,
    notes: [],
    spent: {},
  });
  return { task: opened.task, began: opened.fresh ? "new" : "already" };
}

export interface IntakeDeps extends ServedRequestDeps {
  readonly needs: readonly string[];
  readonly log: Logger;
  readonly uuid: () => string;
  readonly onDue: (taskId: string) => void;
}

/** Takes in an event. The forge decides who may ask: without write access nothing is done, regardless of the text. */
export async function takeInEvent(
  deps: IntakeDeps,
  { deliveryId, item, event }: IntakeEvent,
  stopping?: AbortSignal,
): Promise<IntakeOutcome> {
  const { forge, store, label, log, now } = deps;
  const patience = AbortSignal.timeout(60_000);
  const signal = stopping === undefined ? patience : AbortSignal.any([stopping, patience]);
  const nothing = (why: string): IntakeOutcome => {
    log.info("solve", "solve.event_ignored", "solve.event_ignored", {
      item: item.number,
      kind: event.kind,
      why,
    });
    return { did: "nothing", why };
  };
  const bot = await forge.whoAmI(signal);
  if (!bot.ok) return { did: "failed", why: bot.failure.message };
  const wanted = readWantedAction(event, { bot: bot.value, label });
  if (wanted.do === "nothing") return nothing(wanted.why);
  const allowed = await forge.permissionOf(item.repository, event.actor, signal);
  if (!allowed.ok) return { did: "failed", why: allowed.failure.message };
  if (allowed.value !== "write" && allowed.value !== "admin")
    return nothing(`${event.actor} may not ask: ${allowed.value}`);
  if (!(await store.firstSight(deliveryId, now()))) return nothing("seen already");
  if (wanted.do === "start" && (await wasServed(deps, { bot: bot.value, deliveryId, item, event, signal })))
    return nothing("seen already");
  const live = await store.findLive(item);
  switch (wanted.do) {
    case "start":
    case "follow-up":
      return beginTask(deps, item, event, wanted.do);
    case "tell":
      return live === null ? nothing("no task is working on it") : { did: "tell", taskId: live.id };
    case "stop":
    case "pause":
      return live === null ? nothing("no task is working on it") : haltTask(deps, live, wanted.do);
    case "resume":
      if (live?.state !== "paused") return nothing("not paused");
      await store.save({ ...live, state: "waiting" });
      deps.onDue(live.id);
      return { did: "resume", taskId: live.id };
  }
}

const TRIGGERS: Partial<Record<ForgeEvent["kind"], SolveTask["trigger"]>> = {
  labeled: "label",
  assigned: "assignment",
  reviewed: "review",
};

async function beginTask(
  deps: IntakeDeps,
  item: ItemRef,
  event: ForgeEvent,
  what: "start" | "follow-up",
): Promise<IntakeOutcome> {
  const trigger = TRIGGERS[event.kind] ?? "mention";
  const asked = { item, askedBy: event.actor, trigger, worker: null, needs: deps.needs };
  const { task, began } = await takeInTask(deps, asked);
  if (began === "already") return { did: "tell", taskId: task.id };
  deps.onDue(task.id);
  return { did: what, taskId: task.id };
}

/** The process that works on it is asked; a task that no process works on is ended here. */
async function haltTask(
  { store }: IntakeDeps,
  live: SolveTask,
  what: "stop" | "pause",
): Promise<IntakeOutcome> {
  if (!(await store.halt(live, what === "stop" ? "stopped" : "paused"))) await store.order(live.id, what);
  return { did: what, taskId: live.id };
}

export interface Poll {
  readonly repository: string;
  readonly since: Date;
  readonly signal: AbortSignal;
}

/** Looks once for work: items with the label or assigned to the bot, and comments to it. What a webhook took in already is not repeated. */
export async function pollRepository(
  deps: IntakeDeps,
  { repository, since, signal }: Poll,
): Promise<readonly IntakeOutcome[]> {
  const { forge, label, log } = deps;
  const failed = (why: string): IntakeOutcome => {
    log.warn("solve", "solve.poll_failed", "solve.poll_failed", { repository, error: why });
    return { did: "failed", why };
  };
  const bot = await forge.whoAmI(signal);
  if (!bot.ok) return [failed(bot.failure.message)];
  const wanted = { label, assignee: bot.value.login };
  const work = await forge.listWork(repository, wanted, signal);
  if (!work.ok) return [failed(work.failure.message)];
  const taken: IntakeOutcome[] = [];
  for (const { ref } of work.value) {
    const request = await forge.findRequest(ref, wanted, signal);
    if (!request.ok) taken.push(failed(`${itemUrl(ref)}: ${request.failure.message}`));
    else if (request.value !== null) {
      const { id, actor, kind } = request.value;
      const what = kind === "labeled" ? { label } : { assignee: bot.value.login };
      taken.push(await takeInEvent(deps, { deliveryId: id, item: ref, event: { kind, actor, ...what } }));
    }
  }
  const said = await forge.listSaid(repository, since, signal);
  if (!said.ok) return [...taken, failed(said.failure.message)];
  for (const each of said.value) {
    const event = toForgeEvent(each);
    if (!isForBot(event, bot.value, label)) continue;
    const { ref, commentId } = each;
    const deliveryId = commentId === null ? openedDeliveryId(ref) : commentDeliveryId(ref, commentId);
    taken.push(await takeInEvent(deps, { deliveryId, item: ref, event }));
  }
  return taken;
}

function toForgeEvent({ commentId, author, body }: ForgeSaid): ForgeEvent {
  return { kind: commentId === null ? "opened" : "commented", actor: author, text: body };
}

/** Whether the author's rights have to be looked up: a running task reads its own comments. */
function isForBot(event: ForgeEvent, bot: ForgeUser, label: string): boolean {
  const wanted = readWantedAction(event, { bot, label }).do;
  return event.actor !== "" && wanted !== "nothing" && wanted !== "tell";
}
