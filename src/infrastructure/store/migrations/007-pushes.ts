import type { Kysely } from "kysely";

/** Messages that a service counts, by month. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("pushes")
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("month", "text", (column) => column.notNull())
    .addColumn("count", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("pushes_key", ["channel", "month"])
    .execute();
}
