import type { Kysely } from "kysely";
import type { Database } from "../store/schema.ts";

const OF_CHATS = ["sessions", "turns", "daily_notes", "chat_settings", "decisions"] as const;

/**
 * In a shared store a workspace was once called by its path alone. What is called so goes to the first machine that
 * opens that path; chats that have gone on under the new name keep what they have.
 */
export async function adoptRoot(db: Kysely<Database>, root: string, name: string): Promise<void> {
  if (root === name || !(await hasOldRows(db, root))) return;
  await db.transaction().execute(async (within) => {
    const begun = await within
      .selectFrom("sessions")
      .select("chat_key")
      .where("workspace", "=", name)
      .distinct()
      .execute();
    for (const table of OF_CHATS) {
      const rows = within.updateTable(table).set({ workspace: name }).where("workspace", "=", root);
      const chats = begun.map(({ chat_key: key }) => key);
      await (chats.length === 0 ? rows : rows.where("chat_key", "not in", chats)).execute();
    }
    await within.updateTable("job_owners").set({ workspace: name }).where("workspace", "=", root).execute();
    // What waits gets new work: its old work is in the queue of the old name, which nobody looks at.
    for (const table of ["messages", "replies"] as const)
      await within
        .updateTable(table)
        .set({ workspace: name, work_id: null })
        .where("workspace", "=", root)
        .execute();
  });
}

async function hasOldRows(db: Kysely<Database>, root: string): Promise<boolean> {
  for (const table of ["messages", "sessions"] as const) {
    const row = await db
      .selectFrom(table)
      .select("workspace")
      .where("workspace", "=", root)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}
