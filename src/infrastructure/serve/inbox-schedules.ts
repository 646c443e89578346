import {
  type NextScheduleTime,
  runSchedules,
  type Schedule,
  type ScheduleDeps,
} from "../../application/serve/timed-rounds.ts";

/** Posts messages at their times; the library is loaded only when there is something. Returns how to end it. */
export async function startSchedules(
  schedules: readonly Schedule[],
  parts: Omit<ScheduleDeps, "timesOf"> & {
    readonly onTrouble: (error: unknown, place?: string) => void;
  },
): Promise<() => void> {
  if (schedules.length === 0) return () => {};
  const { Cron } = await import("croner");
  const times = new Map<Schedule, NextScheduleTime>();
  for (const schedule of schedules)
    try {
      const { cron, timezone } = schedule;
      const job = new Cron(cron, { timezone, paused: true });
      times.set(schedule, (after) => job.nextRun(after));
    } catch (error) {
      parts.onTrouble(error, `schedules: ${schedule.name}`);
    }
  return runSchedules([...times.keys()], {
    ...parts,
    timesOf: (schedule) => times.get(schedule) as NextScheduleTime,
  });
}

/** The first time of a rule after another; null when it is no rule, or has none. */
export async function nextTimeOf(cron: string, timezone: string, after: Date): Promise<Date | null> {
  const { Cron } = await import("croner");
  try {
    return new Cron(cron, { timezone, paused: true }).nextRun(after);
  } catch {
    return null;
  }
}
