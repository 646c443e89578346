import { runSchedules, type Schedule } from "../application/inbox/schedules.ts";
import type { Receive } from "../application/ports/channel.ts";
import type { Config } from "../config/config.ts";

/** Starts what the configuration schedules; the library is loaded only when there is something. Returns how to end it. */
export async function startSchedules(
  config: Config,
  receive: Receive,
  onTrouble: (error: unknown, place?: string) => void,
): Promise<() => void> {
  const schedules = schedulesOf(config);
  if (schedules.length === 0) return () => {};
  const { Cron } = await import("croner");
  return runSchedules(schedules, {
    receive,
    onTrouble,
    cron({ name, cron, timezone }, callback) {
      try {
        const job = new Cron(
          cron,
          { timezone, unref: true, catch: (error) => onTrouble(error, name) },
          () => {
            // The moment it was due, not the one in which a busy process got round to it.
            const due = job.currentRun() ?? new Date();
            due.setMilliseconds(0);
            callback(due);
          },
        );
        return () => job.stop();
      } catch (error) {
        onTrouble(error, `schedules: ${name}`);
        return () => {};
      }
    },
  });
}

export function schedulesOf({ schedules, heartbeat, session }: Config): Schedule[] {
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
