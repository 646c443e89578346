import type { Kysely } from "kysely";

/** Inbox, outbox, who caused which job, and who may come in. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("messages")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("event_id", "text", (column) => column.notNull())
    .addColumn("chat_id", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("position", "bigint", (column) => column.notNull())
    .addColumn("received_at", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("lease_until", "text")
    .addColumn("finished_at", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .addUniqueConstraint("messages_event", ["channel", "event_id"])
    .execute();
  await db.schema
    .createIndex("messages_by_chat")
    .on("messages")
    .columns(["channel", "chat_id", "position"])
    .execute();
  await db.schema
    .createIndex("messages_by_turn")
    .on("messages")
    .columns(["channel", "chat_id", "state", "position"])
    .execute();
  await db.schema.createIndex("messages_by_state").on("messages").columns(["state", "position"]).execute();
  await db.schema.createIndex("messages_by_user").on("messages").columns(["channel", "user_id"]).execute();
  await db.schema
    .createTable("replies")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("message_id", "text")
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("chat_id", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("position", "bigint", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("since", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("next_at", "text", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("lease_until", "text")
    .addColumn("finished_at", "text")
    .addColumn("reason", "text")
    .addColumn("reply_to", "text")
    .addColumn("content", "text", (column) => column.notNull())
    .addColumn("day", "text")
    .addColumn("route", "text")
    .addColumn("provider", "text")
    .addColumn("model", "text")
    .addColumn("is_local", "integer")
    .addColumn("input_tokens", "bigint")
    .addColumn("output_tokens", "bigint")
    .addColumn("cost_usd", "double precision")
    .execute();
  await db.schema.createIndex("replies_by_day").on("replies").columns(["day", "user_id"]).execute();
  await db.schema.createIndex("replies_by_state").on("replies").columns(["state", "position"]).execute();
  await db.schema.createIndex("replies_by_message").on("replies").column("message_id").execute();
  await db.schema
    .createIndex("replies_by_chat")
    .on("replies")
    .columns(["channel", "chat_id", "state", "position"])
    .execute();
  await db.schema
    .createTable("job_owners")
    .addColumn("job_id", "text", (column) => column.primaryKey())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("message_id", "text")
    .addColumn("at", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("job_owners_by_user")
    .on("job_owners")
    .columns(["channel", "user_id", "at"])
    .execute();
  await db.schema.createIndex("job_owners_by_message").on("job_owners").column("message_id").execute();
  await access(db);
}

async function access(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("people")
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("added_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("people_key", ["channel", "user_id"])
    .execute();
  await db.schema
    .createTable("pairings")
    .addColumn("code", "text", (column) => column.primaryKey())
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("chat_id", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("expires_at", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("login_links")
    .addColumn("hash", "text", (column) => column.primaryKey())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("expires_at", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("web_sessions")
    .addColumn("hash", "text", (column) => column.primaryKey())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("csrf", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("expires_at", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("api_tokens")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("hash", "text", (column) => column.notNull().unique())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("scopes", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("last_used_at", "text")
    .execute();
}
