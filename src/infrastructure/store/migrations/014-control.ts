import type { Kysely } from "kysely";

/** Orders between machines with their answers, and jobs as their machines tell of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("control_orders")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("job_id", "text", (column) => column.notNull())
    .addColumn("verb", "text", (column) => column.notNull())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("force", "integer", (column) => column.notNull())
    .addColumn("path", "text")
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("deadline_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("order_answers")
    .addColumn("order_id", "text", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("order_answers_key", ["order_id", "position"])
    .execute();
  await db.schema
    .createTable("fleet_jobs")
    .addColumn("job_id", "text", (column) => column.primaryKey())
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("group_id", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("state_at", "text", (column) => column.notNull())
    .addColumn("alive", "integer", (column) => column.notNull())
    .addColumn("record", "text", (column) => column.notNull())
    .addColumn("events", "text", (column) => column.notNull())
    .addColumn("tail", "text", (column) => column.notNull())
    .addColumn("changed_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("fleet_jobs_by_workspace").on("fleet_jobs").column("workspace").execute();
  await db.schema.createIndex("fleet_jobs_by_group").on("fleet_jobs").column("group_id").execute();
  await db.schema.createIndex("fleet_jobs_by_time").on("fleet_jobs").column("created_at").execute();
  await db.schema.createIndex("fleet_jobs_by_change").on("fleet_jobs").column("changed_at").execute();
}
