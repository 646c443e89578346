import { runSchedules, type Schedule } from "../../application/inbox/schedules.ts";
import type { Receive } from "../../application/ports/channel.ts";

/** Posts messages at their times; the library is loaded only when there is something. Returns how to end it. */
export async function startSchedules(
  schedules: readonly Schedule[],
  receive: Receive,
  onTrouble: (error: unknown, place?: string) => void,
): Promise<() => void> {
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
