import type { Kysely } from "kysely";
import type { Database } from "../store/schema.ts";

/**
 * What a chat said before sessions had a workspace goes to the first one in which the chat goes on. False when there is
 * nothing, or another workspace was first.
 */
export async function adoptHistory(
  db: Kysely<Database>,
  workspace: string,
  chatKey: string,
): Promise<boolean> {
  const owned = await db
    .selectFrom("sessions")
    .select("workspace")
    .where("chat_key", "=", chatKey)
    .where("workspace", "in", ["", workspace])
    .execute();
  if (owned.length === 0 || owned.some((row) => row.workspace === workspace)) return false;
  return db.transaction().execute(async (transaction) => {
    let adopted = 0n;
    for (const table of ["sessions", "turns", "daily_notes", "chat_settings"] as const) {
      const { numUpdatedRows } = await transaction
        .updateTable(table)
        .set({ workspace })
        .where("workspace", "=", "")
        .where("chat_key", "=", chatKey)
        .executeTakeFirst();
      adopted += numUpdatedRows;
    }
    return adopted > 0n;
  });
}
