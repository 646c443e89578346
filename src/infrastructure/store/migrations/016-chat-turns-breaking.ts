import type { Kysely } from "kysely";

/** A turn belongs to a process that beats as those of the queue do; no row says how long it lasts. Whoever waits asks again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["chat_leases", "chat_tickets"]) await db.schema.dropTable(table).execute();
  await db.schema
    .createTable("chat_leases")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("process", "text", (column) => column.notNull())
    .addColumn("since", "bigint", (column) => column.notNull())
    .addColumn("stop", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_leases_by_process", ["workspace", "chat_key"])
    .execute();
  await db.schema
    .createTable("chat_tickets")
    .addColumn("workspace", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("ticket", "bigint", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("process", "text", (column) => column.notNull())
    .addColumn("since", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("chat_tickets_by_process", ["workspace", "chat_key", "ticket"])
    .execute();
}
