import type { SessionStore } from "../../application/ports/chat.ts";
import { readSettings } from "./session-rows.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";

/** What outlives a session of a chat. */
export function createChatSettings({
  db,
  workspace,
  held,
}: TurnFenceDeps): Pick<SessionStore, "settings" | "saveSettings"> {
  const inTurn = createTurnFence({ db, workspace, held });
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
      inTurn(chatKey, async (transaction) => {
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
