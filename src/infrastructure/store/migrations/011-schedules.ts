import type { Kysely } from "kysely";

/** When each schedule of a workspace is due next. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("schedules")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("rule", "text", (column) => column.notNull())
    .addColumn("next_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("schedules_of_workspace", ["workspace", "name"])
    .execute();
}
