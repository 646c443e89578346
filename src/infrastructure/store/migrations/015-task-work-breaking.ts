import { type Kysely, sql } from "kysely";

/** Tasks of forges become work of the queue; no row has a lease of its own any more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["solve_tasks", "messages", "replies"])
    for (const column of ["owner", "lease_until"])
      await db.schema.alterTable(table).dropColumn(column).execute();
  await db.schema.alterTable("solve_tasks").addColumn("work_id", "text").execute();
  await db.schema
    .alterTable("solve_tasks")
    .addColumn("needs", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await sql`create index solve_tasks_with_work on solve_tasks (needs) where work_id is not null`.execute(db);
}
