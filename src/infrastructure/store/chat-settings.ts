import type { Kysely } from "kysely";
import type { SessionStore } from "../../application/ports/sessions.ts";
import type { Database } from "./schema.ts";
import { readSettings } from "./session-rows.ts";

/** What outlives a session of a chat. */
export function createChatSettings({
  db,
  workspace,
}: {
  readonly db: Kysely<Database>;
  readonly workspace: string;
}): Pick<SessionStore, "settings" | "saveSettings"> {
  return {
    async settings(chatKey) {
      const row = await db
        .selectFrom("chat_settings")
        .select("settings")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .executeTakeFirst();
      return readSettings(row?.settings);
    },
    saveSettings: (chatKey, change) =>
      db.transaction().execute(async (transaction) => {
        const row = await transaction
          .selectFrom("chat_settings")
          .select("settings")
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .executeTakeFirst();
        const settings = JSON.stringify({ ...readSettings(row?.settings), ...change });
        await transaction
          .insertInto("chat_settings")
          .values({ workspace, chat_key: chatKey, settings })
          .onConflict((conflict) => conflict.columns(["workspace", "chat_key"]).doUpdateSet({ settings }))
          .execute();
      }),
  };
}
