import { PostgresAdapter } from "kysely";
import type { Within } from "../inbox/queue/work-engine.ts";

interface OneRow {
  forShare(): OneRow;
  executeTakeFirst(): Promise<unknown>;
}

/** Whether there is such a row. Within the transaction that asks it stays so. */
export async function rowStands(within: Within, query: OneRow): Promise<boolean> {
  const locked = within.getExecutor().adapter instanceof PostgresAdapter ? query.forShare() : query;
  return (await locked.executeTakeFirst()) !== undefined;
}
