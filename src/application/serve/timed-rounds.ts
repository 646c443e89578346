import type { Config } from "../../config/config.ts";
import { resolveTimeZone } from "../../domain/platform/days.ts";
import { readChatKey } from "../ports/chat.ts";
import type { Timers } from "../ports/platform.ts";
import {
  type AccessStore,
  type DueSchedule,
  type InboundMessage,
  KEPT_KINDS,
  type KeptKind,
  type NewMessage,
  type RetentionStore,
  type Schedule,
  type ScheduleStore,
} from "../ports/serve.ts";
import { pause } from "./take-work.ts";

export type NextScheduleTime = (after: Date) => Date | null;

export interface ScheduleDeps {
  readonly store: ScheduleStore;
  readonly timesOf: (schedule: Schedule) => NextScheduleTime | Promise<NextScheduleTime>;
  /** Whether the person who made it in a chat may still write there, and the token by which it was made. Default: yes. */
  readonly mayPost?: (schedule: Schedule) => Promise<boolean>;
  readonly newMessage: (message: InboundMessage) => NewMessage;
  readonly onFired: (message: NewMessage) => void;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** A time that was missed by this much is not made up for. */
const LATEST_MS = 60_000;
const [SHORTEST_WAIT_MS, LONGEST_WAIT_MS] = [10, 30_000];

/** The store moves a schedule on in the transaction that stores its message: a time is posted once, by any clock. */
export function runSchedules(schedules: readonly Schedule[], deps: ScheduleDeps): () => void {
  const { store, timers } = deps;
  const state = { stopped: false, cancel: () => {} };

  async function round(): Promise<number> {
    const made = await store.made();
    const { now, known } = await store.times();
    let wait = LONGEST_WAIT_MS;
    for (const schedule of [...schedules, ...made]) {
      const rule = `${schedule.cron} ${schedule.timezone}`;
      const was = known.get(schedule.name) ?? null;
      const following = (await deps.timesOf(schedule))(now);
      if (following === null) continue;
      const next: DueSchedule = { rule, at: following };
      if (was === null || was.rule !== rule) await store.set(schedule.name, was, next);
      else if (was.at > now) {
        wait = Math.min(wait, was.at.getTime() - now.getTime());
        continue;
      } else if (now.getTime() - was.at.getTime() > LATEST_MS || !(await isWelcome(schedule, made)))
        await store.set(schedule.name, was, next);
      else await fire(schedule, was, next);
      wait = Math.min(wait, following.getTime() - now.getTime());
    }
    return wait;
  }

  /** A schedule of the configuration is the operator's own. */
  async function isWelcome(schedule: Schedule, made: readonly Schedule[]): Promise<boolean> {
    return !made.includes(schedule) || ((await deps.mayPost?.(schedule)) ?? true);
  }

  async function fire(schedule: Schedule, was: DueSchedule, next: DueSchedule): Promise<void> {
    const message = deps.newMessage(toScheduledMessage(schedule, was.at));
    if ((await store.fire(schedule.name, was, next, message)) !== null) deps.onFired(message);
  }

  async function goOn(): Promise<void> {
    let wait = LONGEST_WAIT_MS / 10;
    try {
      wait = await round();
    } catch (error) {
      deps.onTrouble(error);
    }
    if (!state.stopped) state.cancel = timers.after(Math.max(SHORTEST_WAIT_MS, wait), () => void goOn());
  }

  void goOn();
  return () => {
    state.stopped = true;
    state.cancel();
  };
}

function toScheduledMessage({ name, chat, user, token, message }: Schedule, due: Date): InboundMessage {
  const { channel, chatId } = readChatKey(chat);
  const eventId = `schedule:${name}:${due.toISOString()}`;
  const replyTo = token === undefined ? {} : { replyTo: { token } };
  return { channel, eventId, chatId, userId: user ?? chatId, text: message, ...replyTo };
}

export function configuredSchedules({
  schedules,
  heartbeat,
  session,
}: Pick<Config, "schedules" | "heartbeat" | "session">): Schedule[] {
  const all = schedules
    .filter(({ enabled }) => enabled)
    .map(({ enabled: _, timezone, ...schedule }) => ({
      ...schedule,
      timezone: timezone ?? resolveTimeZone(session.timezone),
    }));
  if (!heartbeat.enabled) return all;
  const { cron, chat, message } = heartbeat;
  return [...all, { name: "heartbeat", cron, chat, message, timezone: resolveTimeZone(session.timezone) }];
}

/** A schedule for a channel that this server does not have would never be seen. */
export function warnOfUnknownChannels(
  schedules: readonly Pick<Schedule, "name" | "chat">[],
  channels: { has(name: string): boolean },
  warn: (name: string, channel: string) => void,
): void {
  for (const { name, chat } of schedules) {
    const { channel } = readChatKey(chat);
    if (!channels.has(channel)) warn(name, channel);
  }
}

/** The store is gone through so often, by whichever process asks first. */
const EVERY_MS = 6 * 3_600_000;
const [FIRST_LOOK_MS, LOOK_MS] = [60_000, 600_000];
const DAY_MS = 24 * 3_600_000;
/** Few enough that no request waits for them, with a pause for other writers. */
const [BATCH, PAUSE_MS] = [200, 100];

export interface PruneRoundsDeps {
  readonly store: RetentionStore;
  readonly access: Pick<AccessStore, "prune">;
  /** Days that a kind is kept; 0: without a limit. */
  readonly days: (kind: KeptKind) => number;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** Removes data that has been kept for long enough, several times a day, in small steps. The result stops it. */
export function startPruning({ store, access, days, timers, onTrouble }: PruneRoundsDeps): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function round(): Promise<void> {
    if (!(await store.takeTurn(EVERY_MS))) return;
    await access.prune(timers.now().toISOString());
    for (const kind of KEPT_KINDS) {
      const kept = days(kind);
      if (kept === 0) continue;
      const before = new Date(timers.now().getTime() - kept * DAY_MS);
      while (!signal.aborted && (await store.forget(kind, before, BATCH)) > 0)
        await pause(timers, PAUSE_MS, signal);
    }
  }

  async function rounds(): Promise<void> {
    await pause(timers, FIRST_LOOK_MS, signal);
    while (!signal.aborted) {
      await round().catch(onTrouble);
      await pause(timers, LOOK_MS, signal);
    }
  }

  void rounds();
  return () => stopping.abort();
}

export interface TimedWork {
  renew(): Promise<void>;
  stop(): void;
}

/** Timed work of a server. Each part is its start, whose result ends it; `renewed` ones restart with each configuration. */
export async function startTimedWork(deps: {
  readonly renewed: readonly (() => (() => void) | Promise<() => void>)[];
  readonly steady: readonly (() => () => void)[];
}): Promise<TimedWork> {
  const ends = new Map<number, () => void>();
  const renew = async () => {
    for (const [at, start] of deps.renewed.entries()) {
      ends.get(at)?.();
      ends.set(at, await start());
    }
  };
  await renew();
  const steady = deps.steady.map((start) => start());
  return {
    renew,
    stop() {
      for (const end of [...steady, ...ends.values()]) end();
    },
  };
}
