import { type Kysely, sql } from "kysely";
import type { PushCounter } from "../../application/ports/serve.ts";
import { type Database, insertRows, migrate, selectRows } from "../store/schema.ts";

export async function createPushCounter(db: Kysely<Database>, now: () => Date): Promise<PushCounter> {
  await migrate(db, now);
  return {
    async used(channel, month) {
      const [row] = await selectRows(db, "pushes", { channel, month });
      return row?.count ?? 0;
    },
    async add(channel, month, count) {
      const more = sql`on conflict (channel, month) do update set count = pushes.count + excluded.count`;
      await insertRows(db, "pushes", [{ channel, month, count }], more);
    },
  };
}
