import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { KeptTable, Row } from "./kept-tables.ts";
import type { Database } from "./schema.ts";

const PAGE = 500;
const PLACE = "place_of_row";

/** All rows of a table that stands still, page by page, by where the store keeps them. */
export async function* readRows(frozen: Kysely<Database>, table: KeptTable): AsyncGenerator<Row> {
  const isPostgres = frozen.getExecutor().adapter instanceof PostgresAdapter;
  const place = isPostgres ? sql.raw("ctid") : sql.raw("rowid");
  const shown = isPostgres ? sql.raw("ctid::text") : sql.raw("rowid");
  let after = sql``;
  for (;;) {
    const { rows } = await sql<Record<string, unknown>>`
      select ${sql.table(table)}.*, ${shown} as ${sql.ref(PLACE)}
      from ${sql.table(table)} ${after} order by ${place} limit ${PAGE}`.execute(frozen);
    for (const { [PLACE]: _, ...row } of rows) yield row;
    const last = rows.at(-1)?.[PLACE];
    if (rows.length < PAGE) return;
    after = isPostgres ? sql`where ctid > ${last}::text::tid` : sql`where rowid > ${last}`;
  }
}
