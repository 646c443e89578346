import { type Kysely, sql } from "kysely";

/**
 * Every message, reply, session and lease belongs to a workspace. Rows from before have none (""): a message of theirs
 * that waits is not carried out, since nobody knows where, and a chat's history goes to the first workspace in which
 * the chat goes on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["messages", "replies", "job_owners", "decisions"])
    await db.schema
      .alterTable(table)
      .addColumn("workspace", "text", (column) => column.notNull().defaultTo(""))
      .execute();
  await sessions(db);
  await turns(db);
  await notes(db);
  await settings(db);
  await leases(db);
}

// No primary key can be changed in SQLite, so that each table is made anew and filled from the old one.

async function sessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("sessions_new")
    .addColumn("workspace", "text", (column) => column.notNull())
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
    .addPrimaryKeyConstraint("sessions_of_workspace", ["workspace", "chat_key", "session_id"])
    .execute();
  await replace(
    db,
    "sessions",
    sql`chat_key, session_id, channel, chat_id, opened_at, closed_at, cut_at, cut_clock, carried, summary,
      summary_up_to, turn_count`,
  );
  // One open session a chat and workspace, whoever writes.
  await sql`create unique index sessions_open on sessions (workspace, chat_key) where closed_at is null`.execute(
    db,
  );
  await sql`create index sessions_due on sessions (workspace, cut_at) where closed_at is null`.execute(db);
}

async function turns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("turns_new")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("agent", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("group_id", "text")
    .addPrimaryKeyConstraint("turns_of_workspace", ["workspace", "chat_key", "session_id", "position"])
    .execute();
  await replace(db, "turns", sql`chat_key, session_id, position, at, role, agent, text, group_id`);
}

async function notes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("daily_notes_new")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("turn_count", "integer", (column) => column.notNull())
    .addColumn("saved_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("daily_notes_of_workspace", ["workspace", "chat_key", "session_id"])
    .execute();
  await replace(db, "daily_notes", sql`chat_key, session_id, text, turn_count, saved_at`);
}

async function settings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("chat_settings_new")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("settings", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_settings_of_workspace", ["workspace", "chat_key"])
    .execute();
  await replace(db, "chat_settings", sql`chat_key, settings`);
}

/** Whoever holds one asks again within seconds. */
async function leases(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropTable("chat_leases").execute();
  await db.schema
    .createTable("chat_leases")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("until", "text", (column) => column.notNull())
    .addColumn("stop", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_leases_of_workspace", ["workspace", "chat_key"])
    .execute();
  await db.schema.dropTable("chat_tickets").execute();
  await db.schema
    .createTable("chat_tickets")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("ticket", "bigint", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("until", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_tickets_of_workspace", ["workspace", "chat_key", "ticket"])
    .execute();
}

async function replace(db: Kysely<unknown>, table: string, columns: ReturnType<typeof sql>): Promise<void> {
  const [old, next] = [sql.table(table), sql.table(`${table}_new`)];
  await sql`insert into ${next} (workspace, ${columns}) select '', ${columns} from ${old}`.execute(db);
  await db.schema.dropTable(table).execute();
  await db.schema.alterTable(`${table}_new`).renameTo(table).execute();
}
