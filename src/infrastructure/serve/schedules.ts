import { type Kysely, sql } from "kysely";
import type { MessageStore } from "../../application/ports/serve.ts";
import type { DueSchedule, ScheduleStore } from "../../application/ports/schedule-store.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { databaseClock } from "../store/database-clock.ts";
import type { Database } from "../store/schema.ts";

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
