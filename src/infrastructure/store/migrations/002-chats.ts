import { type Kysely, sql } from "kysely";

/** Sessions, their turns and notes, decisions, learned rules, usage, and who works on which chat. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("sessions")
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("chat_id", "text", (column) => column.notNull())
    .addColumn("opened_at", "text", (column) => column.notNull())
    .addColumn("closed_at", "text")
    .addColumn("cut_at", "text", (column) => column.notNull())
    .addColumn("cut_clock", "text", (column) => column.notNull())
    .addColumn("carried", "text", (column) => column.notNull())
    .addColumn("summary", "text", (column) => column.notNull())
    .addColumn("summary_up_to", "integer", (column) => column.notNull())
    .addColumn("turn_count", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("sessions_key", ["chat_key", "session_id"])
    .execute();
  // One open session a chat, whoever writes.
  await sql`create unique index sessions_open on sessions (chat_key) where closed_at is null`.execute(db);
  await sql`create index sessions_due on sessions (cut_at) where closed_at is null`.execute(db);
  await db.schema
    .createTable("turns")
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("agent", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("group_id", "text")
    .addPrimaryKeyConstraint("turns_key", ["chat_key", "session_id", "position"])
    .execute();
  await db.schema
    .createTable("daily_notes")
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("turn_count", "integer", (column) => column.notNull())
    .addColumn("saved_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("daily_notes_key", ["chat_key", "session_id"])
    .execute();
  await db.schema
    .createTable("chat_settings")
    .addColumn("chat_key", "text", (column) => column.primaryKey())
    .addColumn("settings", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("decisions")
    .addColumn("decision_id", "text", (column) => column.primaryKey())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("message", "text", (column) => column.notNull())
    .addColumn("route", "text", (column) => column.notNull())
    .addColumn("source", "text", (column) => column.notNull())
    .addColumn("confidence", "double precision", (column) => column.notNull())
    .addColumn("reason", "text", (column) => column.notNull())
    .addColumn("correction_route", "text")
    .addColumn("correction_offered", "text")
    .execute();
  await db.schema.createIndex("decisions_by_chat").on("decisions").columns(["chat_key", "at"]).execute();
  await db.schema
    .createTable("learned_rules")
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("pattern", "text", (column) => column.notNull())
    .addColumn("route", "text", (column) => column.notNull())
    .addColumn("confidence", "double precision", (column) => column.notNull())
    .addColumn("example", "text", (column) => column.notNull())
    .addColumn("learned_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("learned_rules_key", ["chat_key", "pattern"])
    .execute();
  await db.schema
    .createTable("usage_entries")
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("group_id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("provider", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("local", "integer", (column) => column.notNull())
    .addColumn("input_tokens", "bigint", (column) => column.notNull())
    .addColumn("output_tokens", "bigint", (column) => column.notNull())
    .addColumn("cached_tokens", "bigint", (column) => column.notNull())
    .addColumn("cost_usd", "double precision", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("usage_by_time").on("usage_entries").column("at").execute();
  await db.schema.createIndex("usage_by_group").on("usage_entries").column("group_id").execute();
  await db.schema
    .createTable("chat_leases")
    .addColumn("chat_key", "text", (column) => column.primaryKey())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("until", "text", (column) => column.notNull())
    .addColumn("stop", "integer", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("chat_tickets")
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("ticket", "bigint", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("until", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_tickets_key", ["chat_key", "ticket"])
    .execute();
}
