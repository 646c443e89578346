import type { Kysely, RawBuilder } from "kysely";
import type { NewWork, Work, WorkQueue } from "../../application/ports/work-queue.ts";
import type { Database } from "../store/schema.ts";
import type { StoreTransaction } from "./work-engine.ts";

export async function noteDead(
  within: StoreTransaction,
  work: Work,
  reason: string,
  at: RawBuilder<number>,
): Promise<void> {
  const { id, queue, key, group, ref, light, attempt } = work;
  await within
    .insertInto("dead_work")
    .values({
      id,
      queue,
      work_key: key,
      owner_group: group,
      ref,
      light: light ? 1 : 0,
      attempts: attempt,
      reason,
      at,
    })
    .execute();
}

/** Work that was given up: looked at, tried again under a new id, or forgotten. */
export function createDeadWork({
  db,
  newId,
  insert,
}: {
  readonly db: Kysely<Database>;
  readonly newId: () => string;
  readonly insert: (within: StoreTransaction, work: readonly NewWork[]) => Promise<void>;
}): Pick<WorkQueue<StoreTransaction>, "dead" | "retryDead" | "discardDead"> {
  return {
    async dead(limit) {
      const rows = await db.selectFrom("dead_work").selectAll().orderBy("at", "desc").limit(limit).execute();
      return rows.map(({ work_key: key, owner_group: group, light, attempts, at, ...row }) => ({
        ...row,
        key,
        group,
        light: Number(light) === 1,
        attempt: Number(attempts),
        at: new Date(Number(at)),
      }));
    },
    retryDead: (id) =>
      db.transaction().execute(async (within) => {
        const [row] = await within.deleteFrom("dead_work").where("id", "=", id).returningAll().execute();
        if (row === undefined) return false;
        const { queue, work_key: key, owner_group: group, ref, light } = row;
        await insert(within, [{ id: newId(), queue, key, group, ref, light: Number(light) === 1 }]);
        return true;
      }),
    async discardDead(id) {
      const { numDeletedRows } = await db.deleteFrom("dead_work").where("id", "=", id).executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
