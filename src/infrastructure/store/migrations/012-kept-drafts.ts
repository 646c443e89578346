import { type Kysely, sql } from "kysely";

/** Why a draft was kept. Previews that are indexed already are read again with the next look at their folder. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("jobs").addColumn("red", "text").execute();
  await sql`update jobs set state_at = '' where state = 'staged'`.execute(db);
}
