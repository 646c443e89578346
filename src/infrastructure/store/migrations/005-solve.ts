import { type Kysely, sql } from "kysely";

/** Tasks from forges, and which deliveries of webhooks were seen. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("solve_tasks")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("item", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("lease_until", "text")
    .addColumn("ordered", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
  await sql`create unique index solve_tasks_live on solve_tasks (item) where state in ('waiting', 'running', 'paused')`.execute(
    db,
  );
  await db.schema
    .createIndex("solve_tasks_by_state")
    .on("solve_tasks")
    .columns(["state", "created_at"])
    .execute();
  await db.schema
    .createTable("forge_deliveries")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("seen_at", "text", (column) => column.notNull())
    .execute();
}
