import { type Kysely, sql } from "kysely";
import type { PushCounter } from "../../application/ports/serve.ts";
import { type Database, migrate } from "../store/schema.ts";

export async function createPushCounter(db: Kysely<Database>, now: () => Date): Promise<PushCounter> {
  await migrate(db, now);
  return {
    async used(channel, month) {
      const row = await db
        .selectFrom("pushes")
        .select("count")
        .where(({ and }) => and({ channel, month }))
        .executeTakeFirst();
      return row?.count ?? 0;
    },
    async add(channel, month, count) {
      await db
        .insertInto("pushes")
        .values({ channel, month, count })
        .onConflict((conflict) =>
          conflict.columns(["channel", "month"]).doUpdateSet({ count: sql`pushes.count + ${count}` }),
        )
        .execute();
    },
  };
}
