import type { Kysely } from "kysely";
import type { StoreTransaction } from "../serve/work-engine.ts";
import { rowExists } from "./row-stands.ts";
import type { Database } from "./schema.ts";

/** The turns that this process took, by chat; one that was lost stays here until whoever had it is done. */
export type HeldTurns = ReadonlyMap<string, string>;

export interface TurnFenceDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  /** Absent for whoever takes no turns. */
  readonly held?: HeldTurns | undefined;
}

/** Writes about a chat in one transaction, or nothing where the turn in which this is done is another's by now. */
export type TurnFence = (
  chatKey: string,
  write: (within: StoreTransaction) => Promise<void>,
) => Promise<void>;

export function createTurnFence({ db, workspace, held }: TurnFenceDeps): TurnFence {
  return (chatKey, write) =>
    db.transaction().execute(async (within) => {
      const owner = held?.get(chatKey);
      if (owner === undefined || (await turnIsHeld(within, { workspace, chatKey, owner })))
        await write(within);
    });
}

/** Within the transaction that asks it stays so. */
async function turnIsHeld(
  within: StoreTransaction,
  { workspace, chatKey, owner }: { workspace: string; chatKey: string; owner: string },
): Promise<boolean> {
  const query = within
    .selectFrom("chat_leases")
    .select("owner")
    .where("workspace", "=", workspace)
    .where("chat_key", "=", chatKey)
    .where("owner", "=", owner);
  return rowExists(within, query);
}
