import type { Work } from "../../application/ports/work-queue.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { rowExists } from "../store/row-stands.ts";

/**
 * The fence of what is written while work is in hand: whether the claim still stands. Within the transaction that asks
 * it stays so.
 */
export async function claimExists(
  within: StoreTransaction,
  { id, fence }: Pick<Work, "id" | "fence">,
): Promise<boolean> {
  const query = within
    .selectFrom("work_claims")
    .select("id")
    .where("id", "=", id)
    .where("fence", "=", fence)
    .where("owner", "is not", null);
  return rowExists(within, query);
}
