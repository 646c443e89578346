import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { Database } from "./schema.ts";

/** A moment of this process's clock, as the database's clock has it. */
export type StoreTime = (moment: Date) => Promise<Date>;

const MEASURED_FOR_MS = 60_000;
/** What asking takes is no difference. */
const UNSURE_MS = 50;

interface Measured {
  /** What the database said, and when by a clock that nobody can set. */
  readonly database: number;
  readonly at: number;
}

/**
 * Leases of several machines are compared by one clock. The difference to it is measured at the first use and every
 * minute; in between a clock counts that does not jump. The embedded store has the time of its one machine.
 */
export function createStoreTime(db: Kysely<Database>, now: () => Date): StoreTime {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return async (moment) => moment;
  const state: { measured: Promise<Measured> | null } = { measured: null };

  async function measure(): Promise<Measured> {
    const began = performance.now();
    const { rows } = await sql<{ ms: string }>`
      select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
    return { database: Number(rows[0]?.ms), at: (began + performance.now()) / 2 };
  }

  function ask(): Promise<Measured> {
    const asked = measure();
    state.measured = asked;
    asked.catch(() => {
      if (state.measured === asked) state.measured = null;
    });
    return asked;
  }

  return async (moment) => {
    let { database, at } = await (state.measured ?? ask());
    if (performance.now() - at > MEASURED_FOR_MS) ({ database, at } = await ask());
    const difference = database + (performance.now() - at) - now().getTime();
    return Math.abs(difference) < UNSURE_MS ? moment : new Date(moment.getTime() + Math.round(difference));
  };
}
