import { PostgresAdapter } from "kysely";
import type { Work } from "../../application/ports/work-queue.ts";
import type { Within } from "../inbox/queue/work-engine.ts";

/**
 * The fence of what is written while work is in hand: whether the claim still stands. Within the transaction that asks
 * it stays so.
 */
export async function claimStands(
  within: Within,
  { id, fence }: Pick<Work, "id" | "fence">,
): Promise<boolean> {
  const query = within
    .selectFrom("work_claims")
    .select("id")
    .where("id", "=", id)
    .where("fence", "=", fence)
    .where("owner", "is not", null);
  const locked = within.getExecutor().adapter instanceof PostgresAdapter ? query.forShare() : query;
  return (await locked.executeTakeFirst()) !== undefined;
}
