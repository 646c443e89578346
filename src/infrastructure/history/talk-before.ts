import { type Kysely, sql } from "kysely";
import type { EarlierTurn } from "../../application/ports/history.ts";
import { type Database, selectRows } from "../store/schema.ts";

/** Turns of a conversation that a request may lean on. */
const MOST_TURNS = 6;

/** The last turns of the same session before the message of a group, oldest first; none where it is not kept. */
export async function readTalkBefore(db: Kysely<Database>, groupId: string): Promise<readonly EarlierTurn[]> {
  const [own] = await selectRows(db, "turns", { group_id: groupId }, sql`order by position limit 1`);
  if (own === undefined) return [];
  const { workspace, chat_key, session_id, position } = own;
  const rest = sql`and position < ${position} order by position desc limit ${MOST_TURNS}`;
  const rows = await selectRows(db, "turns", { workspace, chat_key, session_id }, rest);
  return rows.map(({ agent, text }) => ({ agent, text })).reverse();
}
