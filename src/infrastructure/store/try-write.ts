import type { Kysely } from "kysely";
import type { Database } from "./schema.ts";

/** No forge names a delivery so. */
const TRIAL_ROW = "readiness";

/**
 * Rejects when the store takes no writes: on a full disk and in a read-only database reading goes on working. The one
 * row it writes changes each time, since SQLite writes nothing where nothing changes.
 */
export async function tryWrite(db: Kysely<Database>, now: Date): Promise<void> {
  const seen_at = now.toISOString();
  await db
    .insertInto("forge_deliveries")
    .values({ id: TRIAL_ROW, seen_at })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at }))
    .execute();
}
