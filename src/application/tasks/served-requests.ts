import type { ItemRef } from "../../domain/forges/forge-items.ts";
import type { ForgeEvent } from "../../domain/forges/trigger.ts";
import type { Forge, ForgeRequest, ForgeUser } from "../ports/forges.ts";
import type { SolveStore } from "../ports/tasks.ts";

export interface HeardRequest {
  readonly bot: ForgeUser;
  readonly deliveryId: string;
  readonly item: ItemRef;
  readonly event: ForgeEvent;
  readonly signal: AbortSignal;
}

/** Forges tell times in whole seconds, and an event's and its item's may differ by one. */
const SAME_MS = 2000;

interface ServedRequestDeps {
  readonly forge: Forge;
  readonly store: SolveStore;
  readonly label: string;
  readonly now: () => Date;
}

/**
 * Whether a label or an assignment started its task already, heard the other way. A webhook names no event of the
 * forge's, so the forge is asked for it, and it is known under that name from then on. A forge whose list lags behind
 * tells of none, or of an older one: then a webhook is believed, and polling is held against the time of the last task.
 */
export async function wasServed(parts: ServedRequestDeps, heard: HeardRequest): Promise<boolean> {
  const { forge, store, label, now } = parts;
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

/** A task that was asked for later served it as well. One that somebody began by hand says nothing of a label. */
async function wasTakenIn(store: SolveStore, item: ItemRef, { at }: ForgeRequest): Promise<boolean> {
  const last = await store.findLast(item);
  if (last === null || last.trigger === "hand") return false;
  return Date.parse(at) <= Date.parse(last.askedAt ?? last.createdAt);
}
