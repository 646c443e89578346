import type { Kysely } from "kysely";
import type { Within } from "../inbox/queue/work-engine.ts";
import { rowStands } from "./row-stands.ts";
import type { Database } from "./schema.ts";

/** The turns that this process took, by chat; one that was lost stays here until whoever had it is done. */
export type HeldTurns = ReadonlyMap<string, string>;

export interface FenceParts {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  /** Absent for whoever takes no turns. */
  readonly held?: HeldTurns | undefined;
}

/** Writes about a chat in one transaction, or nothing where the turn in which this is done is another's by now. */
export type TurnFence = (chatKey: string, write: (within: Within) => Promise<void>) => Promise<void>;

export function createTurnFence({ db, workspace, held }: FenceParts): TurnFence {
  return (chatKey, write) =>
    db.transaction().execute(async (within) => {
      const owner = held?.get(chatKey);
      if (owner === undefined || (await turnStands(within, { workspace, chatKey, owner })))
        await write(within);
    });
}

/** Within the transaction that asks it stays so. */
async function turnStands(
  within: Within,
  { workspace, chatKey, owner }: { workspace: string; chatKey: string; owner: string },
): Promise<boolean> {
  const query = within
    .selectFrom("chat_leases")
    .select("owner")
    .where("workspace", "=", workspace)
    .where("chat_key", "=", chatKey)
    .where("owner", "=", owner);
  return rowStands(within, query);
}
