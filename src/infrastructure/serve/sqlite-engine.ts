import { type Kysely, sql } from "kysely";
import type { ClaimRequest } from "../../application/ports/work-queue.ts";
import type { WorkRow } from "../store/queue-tables.ts";
import type { Database } from "../store/schema.ts";
import type { FetchedWork, StoreTransaction, WorkEngine } from "./work-engine.ts";

/**
 * The queue in the embedded store. The oldest row of each key is marked as its head, and only heads are looked at: a
 * claim costs the same with ten waiting and with ten thousand. Writers of SQLite take turns, so that a transaction
 * sees no other.
 */
export function createSqliteEngine(): WorkEngine {
  return {
    mayHave: async (db, request) => (await selectNextWork(db, request).select("seq").execute()).length > 0,
    waits: async () => true,
    async insert(within, work) {
      for (const { id, queue, key, group, ref, light } of work)
        await sql`insert into work (id, queue, work_key, owner_group, ref, light, claimed, fence, head)
          select ${id}, ${queue}, ${key}, ${group}, ${ref}, ${light ? 1 : 0}, 0, 0,
            not exists (select 1 from work where queue = ${queue} and work_key = ${key})`.execute(within);
    },
    async fetch(within, request) {
      const row = await within
        .updateTable("work")
        .set((is) => ({ claimed: 1, fence: is("fence", "+", 1) }))
        .where("seq", "=", selectNextWork(within, request).select("seq"))
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : toFetched(row);
    },
    async complete(within, { id, fence }) {
      const [row] = await within
        .deleteFrom("work")
        .where("id", "=", id)
        .where("fence", "=", fence)
        .where("claimed", "=", 1)
        .returning(["queue", "work_key"])
        .execute();
      if (row === undefined) return false;
      await sql`update work set head = 1 where seq =
        (select min(seq) from work where queue = ${row.queue} and work_key = ${row.work_key})`.execute(
        within,
      );
      return true;
    },
    async release(within, { id, fence }) {
      const { numUpdatedRows } = await within
        .updateTable("work")
        .set({ claimed: 0 })
        .where("id", "=", id)
        .where("fence", "=", fence)
        .where("claimed", "=", 1)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    listen: () => () => {},
    notify: async () => {},
    close: async () => {},
  };
}

/** The one that is next, if any. */
function selectNextWork(
  db: Kysely<Database> | StoreTransaction,
  { queue, lightOnly = false, notGroups = [], id }: ClaimRequest,
) {
  let query = db.selectFrom("work").where("queue", "=", queue).where("head", "=", 1).where("claimed", "=", 0);
  if (id !== undefined) query = query.where("id", "=", id);
  if (lightOnly) query = query.where("light", "=", 1);
  if (notGroups.length > 0) query = query.where("owner_group", "not in", notGroups);
  return query.orderBy("light", "desc").orderBy("seq").limit(1);
}

function toFetched(row: WorkRow): FetchedWork {
  return {
    id: row.id,
    queue: row.queue,
    key: row.work_key,
    group: row.owner_group,
    ref: row.ref,
    light: Number(row.light) === 1,
    fence: Number(row.fence),
  };
}
