import { readTraceparent } from "../../domain/platform/traceparent.ts";
import { addToSteps, type WorkStep } from "../chat/describe-event.ts";
import type { Agent, ChatEvent, PlanStep, Reply } from "../ports/chat.ts";
import type { Logger } from "../ports/platform.ts";
import type { StoredMessage } from "../ports/serve.ts";

export type ServeEvent =
  | { readonly type: "received"; readonly message: StoredMessage }
  /** It was claimed and is being answered; it ends with `answered`, or `left` to be begun again or by another. */
  | { readonly type: "begun" | "left"; readonly message: StoredMessage }
  | { readonly type: "chat"; readonly message: StoredMessage; readonly event: ChatEvent }
  | { readonly type: "answered"; readonly message: StoredMessage; readonly reply: Reply; readonly ms: number }
  | {
      readonly type: "delivered";
      readonly channel: string;
      readonly ok: boolean;
      /** The message that was answered; absent if no message asked for it. */
      readonly messageId?: string;
      readonly attempt: number;
      readonly ms: number;
    }
  | { readonly type: "job"; readonly jobId: string; readonly output?: string };

export type Bus = ReturnType<typeof createBus>;

export function createBus() {
  const listeners = new Set<(event: ServeEvent) => void>();
  return {
    publish(event: ServeEvent): void {
      for (const listener of listeners)
        try {
          listener(event);
        } catch {
          listeners.delete(listener);
        }
    },
    /** Returns how to stop listening. A listener that throws is dropped. */
    subscribe(listener: (event: ServeEvent) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export interface LiveWork {
  readonly agent: Agent | null;
  /** The last thing that happened and can be said. */
  readonly event: ChatEvent | null;
  readonly trail: readonly WorkStep[];
  readonly words: string;
  readonly lines: string;
  readonly costUsd: number;
  readonly steps?: readonly PlanStep[];
}

/** Messages at work, so that a page that is opened later shows their progress. */
export type LiveWorks = ReturnType<typeof createLiveWorks>;

export const NOTHING_LIVE: LiveWork = {
  agent: null,
  event: null,
  trail: [],
  words: "",
  lines: "",
  costUsd: 0,
};
const MOST_LINES = 8;
const MOST_CHARACTERS = 2_000;
const MOST_MESSAGES = 200;

/** How many characters of text and steps are kept for late subscribers. */
const MOST_WORDS = 12_000;
const MOST_STEPS = 200;

export function createLiveWorks(bus: Bus, now: () => number) {
  const works = new Map<string, LiveWork>();
  bus.subscribe((event) => {
    if (event.type === "answered") works.delete(event.message.id);
    if (event.type !== "chat") return;
    const { id } = event.message;
    works.set(id, applyEventToWork(works.get(id) ?? NOTHING_LIVE, event.event, now()));
    if (works.size > MOST_MESSAGES) works.delete(works.keys().next().value as string);
  });
  const state: { remote: ReadonlyMap<string, LiveWork> } = { remote: new Map() };
  return {
    of: (messageId: string): LiveWork => works.get(messageId) ?? state.remote.get(messageId) ?? NOTHING_LIVE,
    tell(remote: ReadonlyMap<string, LiveWork>): void {
      state.remote = remote;
    },
  };
}

function applyEventToWork(before: LiveWork, event: ChatEvent, at: number): LiveWork {
  const trail = addToSteps(before.trail, event, at).slice(-MOST_STEPS);
  const isNext = trail.length !== before.trail.length || trail.at(-1)?.state !== before.trail.at(-1)?.state;
  const work = { ...before, trail, ...(isNext && { lines: "" }) };
  switch (event.type) {
    case "thinking":
      return { ...work, agent: event.agent, event, words: "" };
    case "text":
      return { ...work, words: (work.words + event.text).slice(-MOST_WORDS) };
    case "drafting": {
      // Of several coders that write at once, the one that wrote last is shown.
      const words = work.agent === event.agent ? work.words : "";
      return { ...work, agent: event.agent, event, words: (words + event.text).slice(-MOST_WORDS) };
    }
    case "job-output":
      return { ...work, lines: lastLines(work.lines + event.text) };
    case "progress": {
      // The event `thinking` already reports that a coder is asked for the first time.
      const isFirst = event.doing === "asking" && event.attempt === 1 && event.detail === "";
      const shown = isFirst ? work : { ...work, event };
      return { ...shown, costUsd: event.costUsd, ...(event.doing === "asking" && { words: "", lines: "" }) };
    }
    case "agent":
      return { ...work, event: null };
    case "steps":
      return { ...work, steps: event.steps };
    case "tool":
      return event.state === "started" ? { ...work, event } : work;
    case "proposed":
      return { ...work, event, words: "" };
    case "job-finished":
      return { ...work, event, lines: "" };
    case "decided":
    case "job-started":
    case "notice":
      return { ...work, event };
    default:
      return work;
  }
}

export function lastLines(text: string): string {
  const kept = text.slice(-MOST_CHARACTERS).split("\n");
  const end = kept.at(-1) === "" ? -1 : kept.length;
  return kept.slice(0, end).slice(-MOST_LINES).join("\n") + (end === -1 ? "\n" : "");
}

/** The second names group and jobs: with these ids a reader of the log finds everything that was done for one message. */
export function logMessages(bus: Bus, log: Pick<Logger, "info">): void {
  bus.subscribe((event) => {
    if (event.type !== "received" && event.type !== "answered") return;
    const { id, channel, eventId, traceparent } = event.message;
    const traceId = readTraceparent(traceparent)?.traceId;
    const ids = { message_id: id, channel, event_id: eventId, trace_id: traceId };
    if (event.type === "received") return log.info("inbox", "Message received", "inbox.received", ids);
    const { reply, ms } = event;
    log.info("inbox", "Message answered", "inbox.answered", {
      ...ids,
      group_id: reply.groupId ?? null,
      job_ids: reply.jobs.map(({ job_id }) => job_id),
      route: reply.decision?.route ?? null,
      ok: reply.ok,
      duration: ms,
    });
  });
}
