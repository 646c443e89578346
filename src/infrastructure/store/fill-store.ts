import { type Kysely, sql } from "kysely";
import type { FillResult } from "../../application/ports/store.ts";
import { INDEX_TABLES, KEPT_TABLES, type KeptTable, type StoredRow } from "./kept-tables.ts";
import { readRows } from "./read-rows.ts";
import { createRowDigest, type TableDigest } from "./row-digest.ts";
import type { Database } from "./schema.ts";

/** Parameters of one statement are limited. */
const BATCH = 50;

export interface StoreFill {
  readonly rows: (table: KeptTable) => AsyncIterable<StoredRow>;
  /** What must be there afterwards; absent: what `rows` gave. */
  readonly expected?: Readonly<Record<string, TableDigest>>;
}

class UnequalRows extends Error {
  constructor(readonly table: string) {
    super(`the rows of ${table} are not those that were written`);
  }
}

/**
 * Fills an empty store in one transaction, reads everything back and compares: a store holds all of it or nothing. The
 * index of jobs is replaced.
 */
export async function fillStore(db: Kysely<Database>, { rows, expected }: StoreFill): Promise<FillResult> {
  try {
    return await db.transaction().execute(async (within) => {
      for (const table of KEPT_TABLES)
        if (!INDEX_TABLES.includes(table) && (await readRows(within, table).next()).done !== true)
          return { status: "in-use", table } as const;
      let count = 0;
      for (const table of KEPT_TABLES) {
        await sql`delete from ${sql.table(table)}`.execute(within);
        const given = createRowDigest();
        let batch: StoredRow[] = [];
        const write = async () => {
          if (batch.length > 0)
            await within
              .insertInto(table)
              .values(batch as never)
              .execute();
          batch = [];
        };
        for await (const row of rows(table)) {
          given.add(row);
          batch.push(row);
          if (batch.length === BATCH) await write();
        }
        await write();
        const found = createRowDigest();
        for await (const row of readRows(within, table)) found.add(row);
        const wanted = expected?.[table] ?? given.result();
        if (found.result().digest !== wanted.digest || found.result().rows !== wanted.rows)
          throw new UnequalRows(table);
        count += wanted.rows;
      }
      return { status: "filled", rows: count } as const;
    });
  } catch (error) {
    if (error instanceof UnequalRows) return { status: "unequal", table: error.table };
    throw error;
  }
}
