import type { ItemRef } from "../../domain/forges/forge-items.ts";
import { type ForgeEvent, readWantedAction, type WantedAction } from "../../domain/forges/trigger.ts";
import type { Forge } from "../ports/forges.ts";
import type { Logger } from "../ports/logger.ts";
import type { SolveStore, SolveTask } from "../ports/tasks.ts";
import { wasServed } from "./served-requests.ts";
import { takeInTask } from "./take-in.ts";

export interface IntakeDeps {
  readonly forge: Forge;
  readonly store: SolveStore;
  readonly label: string;
  /** Labels that a machine must have to carry its tasks out. */
  readonly needs: readonly string[];
  readonly log: Logger;
  readonly now: () => Date;
  readonly uuid: () => string;
  /** Told when a task is due. */
  readonly onDue: (taskId: string) => void;
}

export interface IntakeEvent {
  /** Unique at the forge; an event that was delivered twice is one event. */
  readonly deliveryId: string;
  readonly item: ItemRef;
  readonly event: ForgeEvent;
}

export type IntakeOutcome =
  | { readonly did: "nothing"; readonly why: string }
  /** The forge did not answer; the same event may be delivered again. */
  | { readonly did: "failed"; readonly why: string }
  | { readonly did: Exclude<WantedAction["do"], "nothing">; readonly taskId: string };

/**
 * What came from a forge, by webhook or by polling. Who may ask is the forge's to say: whatever the text claims, an
 * actor without write access gets nothing done.
 */
export async function takeInEvent(
  parts: IntakeDeps,
  { deliveryId, item, event }: IntakeEvent,
): Promise<IntakeOutcome> {
  const { forge, store, label, log, now } = parts;
  const signal = AbortSignal.timeout(60_000);
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
  if (wanted.do === "start" && (await wasServed(parts, { bot: bot.value, deliveryId, item, event, signal })))
    return nothing("seen already");
  const live = await store.findLive(item);
  switch (wanted.do) {
    case "start":
    case "follow-up":
      return beginTask(parts, item, event, wanted.do);
    case "tell":
      return live === null ? nothing("nobody works on it") : { did: "tell", taskId: live.id };
    case "stop":
    case "pause":
      return live === null ? nothing("nobody works on it") : haltTask(parts, live, wanted.do);
    case "resume":
      if (live?.state !== "paused") return nothing("not paused");
      await store.save({ ...live, state: "waiting" });
      parts.onDue(live.id);
      return { did: "resume", taskId: live.id };
  }
}

async function beginTask(
  parts: IntakeDeps,
  item: ItemRef,
  event: ForgeEvent,
  what: "start" | "follow-up",
): Promise<IntakeOutcome> {
  const trigger =
    event.kind === "labeled"
      ? "label"
      : event.kind === "assigned"
        ? "assignment"
        : event.kind === "reviewed"
          ? "review"
          : "mention";
  const { task, began } = await takeInTask(parts, {
    item,
    askedBy: event.actor,
    trigger,
    worker: null,
    needs: parts.needs,
  });
  if (began === "already") return { did: "tell", taskId: task.id };
  parts.onDue(task.id);
  return { did: what, taskId: task.id };
}

/** Whoever works on it is asked; what nobody works on is ended here. */
async function haltTask(
  { store }: IntakeDeps,
  live: SolveTask,
  what: "stop" | "pause",
): Promise<IntakeOutcome> {
  if (!(await store.halt(live, what === "stop" ? "stopped" : "paused"))) await store.order(live.id, what);
  return { did: what, taskId: live.id };
}
