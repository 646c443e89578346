import type { Kysely } from "kysely";

/** Jobs and the events of their journals. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("jobs")
    .addColumn("job_id", "text", (column) => column.primaryKey())
    .addColumn("group_id", "text", (column) => column.notNull())
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("source", "text", (column) => column.notNull())
    .addColumn("title", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("finished_at", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("outcome", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("state_at", "text", (column) => column.notNull())
    .addColumn("success", "integer", (column) => column.notNull())
    .addColumn("total_cmds", "integer", (column) => column.notNull())
    .addColumn("executed_cmds", "integer", (column) => column.notNull())
    .addColumn("failed_cmds", "integer", (column) => column.notNull())
    .addColumn("git_commit", "text")
    .addColumn("change_count", "integer", (column) => column.notNull())
    .addColumn("bytes", "bigint", (column) => column.notNull())
    .addColumn("event_count", "integer", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("jobs_by_workspace").on("jobs").columns(["workspace", "created_at"]).execute();
  await db.schema.createIndex("jobs_by_group").on("jobs").column("group_id").execute();
  await db.schema
    .createTable("events")
    .addColumn("job_id", "text", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("events_key", ["job_id", "position"])
    .execute();
}
