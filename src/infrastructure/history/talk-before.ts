import type { Kysely } from "kysely";
import type { EarlierTurn } from "../../application/ports/history.ts";
import type { Database } from "../store/schema.ts";

/** Turns of a conversation that a request may lean on. */
const MOST_TURNS = 6;

/** The last turns of the same session before the message of a group, oldest first; none where it is not kept. */
export async function readTalkBefore(db: Kysely<Database>, groupId: string): Promise<readonly EarlierTurn[]> {
  const own = await db
    .selectFrom("turns")
    .select(["workspace", "chat_key", "session_id", "position"])
    .where("group_id", "=", groupId)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
  if (own === undefined) return [];
  const { position, ...session } = own;
  const rows = await db
    .selectFrom("turns")
    .select(["agent", "text"])
    .where(({ and }) => and(session))
    .where("position", "<", position)
    .orderBy("position", "desc")
    .limit(MOST_TURNS)
    .execute();
  return rows.reverse();
}
