import { type Kysely, sql } from "kysely";
import type { DueSchedule, MessageStore, Schedule, ScheduleStore } from "../../application/ports/serve.ts";
import {
  type NextScheduleTime,
  runSchedules,
  type ScheduleDeps,
} from "../../application/serve/timed-rounds.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { databaseClock } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  insertRows,
  type StoreTransaction,
  selectRows,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

/** The library is loaded only for a schedule. A configured rule that cannot be read is reported before anything is posted. */
export async function startSchedules(
  schedules: readonly Schedule[],
  deps: Omit<ScheduleDeps, "timesOf"> & {
    readonly onTrouble: (error: unknown, place?: string) => void;
  },
): Promise<() => void> {
  const times = new Map<string, NextScheduleTime>();
  const timesOf = async ({ name, cron, timezone }: Schedule): Promise<NextScheduleTime> => {
    const rule = `${cron} ${timezone}`;
    const known = times.get(rule);
    if (known !== undefined) return known;
    const { Cron } = await import("croner");
    const read = (): NextScheduleTime => {
      try {
        const job = new Cron(cron, { timezone, paused: true });
        return (after) => job.nextRun(after);
      } catch (error) {
        deps.onTrouble(error, `schedules: ${name}`);
        return () => null;
      }
    };
    const made = read();
    times.set(rule, made);
    return made;
  };
  for (const schedule of schedules) await timesOf(schedule);
  return runSchedules(schedules, { ...deps, timesOf });
}

/** The first time of a rule after another; null if it is not a rule, or has none. */
export async function nextTimeOf(cron: string, timezone: string, after: Date): Promise<Date | null> {
  const { Cron } = await import("croner");
  return attemptOr(null, () => new Cron(cron, { timezone, paused: true }).nextRun(after));
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
      const known = await selectRows(db, "schedules", { workspace });
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
      const [stored] = await messages.addAll([message], async (given) => {
        const within = given as StoreTransaction;
        if (!(await moveSchedule(within, workspace, name, was, next))) return false;
        await noteScheduleRun(within, { workspace, name, at: was.at, messageId: message.id, asked: false });
        return true;
      });
      return stored?.added === true ? { id: stored.id } : null;
    },
    async made() {
      const rows = await selectRows(db, "chat_schedules", { workspace, enabled: 1 }, sql`order by number`);
      return rows.map((row) => ({
        name: chatScheduleName(row.number),
        cron: row.cron,
        timezone: row.timezone,
        chat: `${row.channel}:${row.chat_id}`,
        user: row.user_id,
        ...(row.token !== null && { token: row.token }),
        message: row.message,
      }));
    },
  };
}

/** A name that no configured schedule can have. */
export function chatScheduleName(number: number): string {
  return `chat/${number}`;
}

const KEPT_RUNS = 100;

export async function noteScheduleRun(
  db: Kysely<Database>,
  run: {
    readonly workspace: string;
    readonly name: string;
    readonly at: Date;
    readonly messageId: string | null;
    readonly asked: boolean;
  },
): Promise<void> {
  const { workspace, name } = run;
  const schedule = { workspace, name };
  const row = { ...schedule, at: run.at.getTime(), message_id: run.messageId, asked: Number(run.asked) };
  await insertRows(db, "schedule_runs", [row], sql`on conflict do nothing`);
  const order = sql`order by at desc limit 1 offset ${KEPT_RUNS}`;
  const [oldest] = await selectRows(db, "schedule_runs", schedule, order);
  if (oldest !== undefined) await deleteRows(db, "schedule_runs", schedule, sql`and at <= ${oldest.at}`);
}

async function moveSchedule(
  within: StoreTransaction,
  workspace: string,
  name: string,
  was: DueSchedule | null,
  next: DueSchedule,
): Promise<boolean> {
  const values = { rule: next.rule, next_at: next.at.getTime() };
  if (was === null)
    return (
      (await upsertRow(within, "schedules", { workspace, name, ...values }, ["workspace", "name"], [])) > 0
    );
  const known = { workspace, name, rule: was.rule, next_at: was.at.getTime() };
  return (await updateRows(within, "schedules", known, values)) > 0;
}
