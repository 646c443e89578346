import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { KeptTable, StoredRow } from "./kept-tables.ts";
import type { Database } from "./schema.ts";

const ROWS_PER_PAGE = 500;
const ROW_POSITION_COLUMN = "place_of_row";

/** All rows of a table that stands still, page by page, by where the store keeps them. */
export async function* readRows(frozen: Kysely<Database>, table: KeptTable): AsyncGenerator<StoredRow> {
  const isPostgres = frozen.getExecutor().adapter instanceof PostgresAdapter;
  const place = isPostgres ? sql.raw("ctid") : sql.raw("rowid");
  const shown = isPostgres ? sql.raw("ctid::text") : sql.raw("rowid");
  let after = sql``;
  for (;;) {
    const { rows } = await sql<Record<string, unknown>>`
      select ${sql.table(table)}.*, ${shown} as ${sql.ref(ROW_POSITION_COLUMN)}
      from ${sql.table(table)} ${after} order by ${place} limit ${ROWS_PER_PAGE}`.execute(frozen);
    for (const { [ROW_POSITION_COLUMN]: _, ...row } of rows) yield row;
    const last = rows.at(-1)?.[ROW_POSITION_COLUMN];
    if (rows.length < ROWS_PER_PAGE) return;
    after = isPostgres ? sql`where ctid > ${last}::text::tid` : sql`where rowid > ${last}`;
  }
}
