import { PostgresAdapter } from "kysely";
import type { StoreTransaction } from "../serve/work-engine.ts";

interface OneRow {
  forShare(): OneRow;
  executeTakeFirst(): Promise<unknown>;
}

/** Whether there is such a row. Within the transaction that asks it stays so. */
export async function rowExists(within: StoreTransaction, query: OneRow): Promise<boolean> {
  const locked = within.getExecutor().adapter instanceof PostgresAdapter ? query.forShare() : query;
  return (await locked.executeTakeFirst()) !== undefined;
}
