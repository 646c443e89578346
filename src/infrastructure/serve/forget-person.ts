import type { Kysely } from "kysely";
import type { Database } from "../store/schema.ts";

const BY_CHAT = [
  "sessions",
  "turns",
  "daily_notes",
  "chat_settings",
  "decisions",
  "learned_rules",
  "usage_entries",
] as const;
const BY_PERSON = ["messages", "replies", "job_owners", "people", "pairings", "told_away"] as const;
const OF_THE_WEB = ["web_sessions", "login_links", "api_tokens"] as const;

/**
 * Deletes what one person said and was answered, who they are to us, and everything about chats in which nobody else
 * spoke. Returns the number of rows. Their jobs stay: these are changes to the workspace, not to them.
 */
export function forgetPerson(
  db: Kysely<Database>,
  { channel, userId }: { readonly channel: string; readonly userId: string },
): Promise<number> {
  return db.transaction().execute(async (within) => {
    let rows = 0n;
    const spoken = await within
      .selectFrom("messages")
      .select(["chat_id", "user_id"])
      .distinct()
      .where("channel", "=", channel)
      .where("chat_id", "in", ({ selectFrom }) =>
        selectFrom("messages").select("chat_id").where("channel", "=", channel).where("user_id", "=", userId),
      )
      .execute();
    const shared = new Set(spoken.filter(({ user_id }) => user_id !== userId).map(({ chat_id }) => chat_id));
    const own = new Set([userId, ...spoken.map(({ chat_id }) => chat_id)]);
    const keys = [...own].filter((chat) => !shared.has(chat)).map((chat) => `${channel}:${chat}`);
    for (const table of BY_CHAT)
      rows += (await within.deleteFrom(table).where("chat_key", "in", keys).executeTakeFirst())
        .numDeletedRows;
    for (const table of BY_PERSON)
      rows += (
        await within
          .deleteFrom(table)
          .where("channel", "=", channel)
          .where("user_id", "=", userId)
          .executeTakeFirst()
      ).numDeletedRows;
    if (channel === "web")
      for (const table of OF_THE_WEB)
        rows += (await within.deleteFrom(table).where("user_id", "=", userId).executeTakeFirst())
          .numDeletedRows;
    return Number(rows);
  });
}
