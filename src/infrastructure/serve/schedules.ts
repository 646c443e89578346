import { type Kysely, sql } from "kysely";
import type { DueSchedule, MessageStore, ScheduleStore } from "../../application/ports/serve.ts";
import {
  type NextScheduleTime,
  runSchedules,
  type Schedule,
  type ScheduleDeps,
} from "../../application/serve/timed-rounds.ts";
import { databaseClock } from "../store/liveness.ts";
import type { Database, StoreTransaction } from "../store/schema.ts";

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

export interface ScheduleStoreDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  readonly now: () => Date;
  readonly messages: Pick<MessageStore, "addAll">;
}

/** A schedule is a row that moves by compare-and-set: of many processes one moves it, and that one posts. */
export function createScheduleStore({ db, workspace, now, messages }: ScheduleStoreDeps): ScheduleStore {
  const clock = databaseClock(db, now);
  return {
    async times() {
      const { rows } = await sql<{ now: number }>`select ${clock()} as now`.execute(db);
      const known = await db.selectFrom("schedules").selectAll().where("workspace", "=", workspace).execute();
      return {
        now: new Date(Number(rows[0]?.now)),
        known: new Map(
          known.map(({ name, rule, next_at: at }) => [name, { rule, at: new Date(Number(at)) }]),
        ),
      };
    },
    set: (name, was, next) =>
      db.transaction().execute((within) => moveSchedule(within, workspace, name, was, next)),
    async fire(name, was, next, message) {
      const [stored] = await messages.addAll([message], (within) =>
        moveSchedule(within as StoreTransaction, workspace, name, was, next),
      );
      return stored?.added === true ? { id: stored.id } : null;
    },
  };
}

async function moveSchedule(
  within: StoreTransaction,
  workspace: string,
  name: string,
  was: DueSchedule | null,
  next: DueSchedule,
): Promise<boolean> {
  const values = { rule: next.rule, next_at: next.at.getTime() };
  if (was === null) {
    const { numInsertedOrUpdatedRows = 0n } = await within
      .insertInto("schedules")
      .values({ workspace, name, ...values })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows > 0n;
  }
  const { numUpdatedRows } = await within
    .updateTable("schedules")
    .set(values)
    .where("workspace", "=", workspace)
    .where("name", "=", name)
    .where("rule", "=", was.rule)
    .where("next_at", "=", was.at.getTime())
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
