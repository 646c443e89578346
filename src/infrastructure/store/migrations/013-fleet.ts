import type { Kysely } from "kysely";

/** The machines that share the store, their processes, and the chats that were told that their machine is away. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("machines")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("incarnation", "text", (column) => column.notNull())
    .addColumn("seen_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("machine_processes")
    .addColumn("owner", "text", (column) => column.primaryKey())
    .addColumn("machine_id", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("root", "text", (column) => column.notNull())
    .addColumn("labels", "text", (column) => column.notNull())
    .addColumn("lanes", "integer", (column) => column.notNull())
    .addColumn("busy", "integer", (column) => column.notNull())
    .addColumn("version", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("beat_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("told_away")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("chat_id", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("told_away_chat", ["workspace", "channel", "chat_id"])
    .execute();
}
