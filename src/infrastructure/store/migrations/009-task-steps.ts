import type { Kysely } from "kysely";

/** What happened to each task, in order; rows are only ever added. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("task_steps")
    .addColumn("task_id", "text", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("task_steps_key", ["task_id", "position"])
    .execute();
}
