import type { Config } from "../../config/config.ts";
import type { InboundMessage, Receive } from "../ports/channel.ts";

export interface Schedule {
  readonly name: string;
  /** Five fields, or six with seconds first. */
  readonly cron: string;
  readonly timezone: string;
  /** `<channel>:<chatId>`. */
  readonly chat: string;
  /** Whose chat it is; default: the chat's own name. */
  readonly user?: string | undefined;
  readonly message: string;
}

/** Calls back at each time of a cron expression, with that time; the answer ends it. */
export type Cron = (schedule: Schedule, callback: (due: Date) => void) => () => void;

/**
 * Posts messages at their times. A message is named after its schedule and the minute it was due: however many
 * processes share the store, and however often one is restarted in that minute, it comes once.
 */
export function runSchedules(
  schedules: readonly Schedule[],
  parts: {
    readonly cron: Cron;
    readonly receive: Receive;
    readonly onTrouble: (error: unknown) => void;
  },
): () => void {
  const ends = schedules.map((schedule) =>
    parts.cron(schedule, (due) => {
      parts.receive(toMessage(schedule, due)).catch(parts.onTrouble);
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}

function toMessage(schedule: Schedule, due: Date): InboundMessage {
  const at = schedule.chat.indexOf(":");
  const chatId = schedule.chat.slice(at + 1);
  return {
    channel: schedule.chat.slice(0, at),
    eventId: `schedule:${schedule.name}:${due.toISOString()}`,
    chatId,
    userId: schedule.user ?? chatId,
    text: schedule.message,
  };
}

/** What the configuration schedules, the heartbeat included. */
export function schedulesOf({
  schedules,
  heartbeat,
  session,
}: Pick<Config, "schedules" | "heartbeat" | "session">): Schedule[] {
  const all = schedules
    .filter(({ enabled }) => enabled)
    .map(({ enabled: _, timezone, ...schedule }) => ({
      ...schedule,
      timezone: timezone ?? session.timezone,
    }));
  if (!heartbeat.enabled) return all;
  const { cron, chat, message } = heartbeat;
  return [...all, { name: "heartbeat", cron, chat, message, timezone: session.timezone }];
}
