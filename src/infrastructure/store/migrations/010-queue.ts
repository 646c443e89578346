import { type Kysely, PostgresAdapter, sql } from "kysely";

/** One queue for messages, replies and whatever else is to be done. Messages and replies name their work. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["messages", "replies"])
    await db.schema.alterTable(table).addColumn("work_id", "text").execute();
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  if (!isPostgres) await work(db);
  await db.schema
    .createTable("work_claims")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("queue", "text", (column) => column.notNull())
    .addColumn("work_key", "text", (column) => column.notNull())
    .addColumn("owner_group", "text", (column) => column.notNull())
    .addColumn("ref", "text", (column) => column.notNull())
    .addColumn("light", "integer", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("fence", "integer", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("claimed_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("work_claims_by_owner").on("work_claims").column("owner").execute();
  await db.schema
    .createTable("work_owners")
    .addColumn("owner", "text", (column) => column.primaryKey())
    .addColumn("beat_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("dead_work")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("queue", "text", (column) => column.notNull())
    .addColumn("work_key", "text", (column) => column.notNull())
    .addColumn("owner_group", "text", (column) => column.notNull())
    .addColumn("ref", "text", (column) => column.notNull())
    .addColumn("light", "integer", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("reason", "text", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .execute();
}

async function work(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("work")
    .addColumn("seq", "integer", (column) => column.primaryKey().autoIncrement())
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("queue", "text", (column) => column.notNull())
    .addColumn("work_key", "text", (column) => column.notNull())
    .addColumn("owner_group", "text", (column) => column.notNull())
    .addColumn("ref", "text", (column) => column.notNull())
    .addColumn("light", "integer", (column) => column.notNull())
    .addColumn("claimed", "integer", (column) => column.notNull())
    .addColumn("fence", "integer", (column) => column.notNull())
    .addColumn("head", "integer", (column) => column.notNull())
    .execute();
  await sql`create index work_heads on work (queue, head, claimed, light desc, seq)`.execute(db);
  await db.schema.createIndex("work_by_key").on("work").columns(["queue", "work_key", "seq"]).execute();
}
