import type { Kysely } from "kysely";
import type { NamedChat } from "../../application/ports/named-chats.ts";
import { oneLine } from "../../domain/jobs/format-results.ts";
import type { Database } from "../store/schema.ts";

export interface NamedChatsDeps {
  readonly db: Kysely<Database>;
  /** The workspace that is open, as the store names it. */
  readonly workspace: string;
  readonly channel: string;
}

const OF_A_CHAT = ["turns", "daily_notes", "chat_settings", "decisions", "sessions"] as const;
const MOST_LISTED = 200;

export function createNamedChats({ db, workspace, channel }: NamedChatsDeps) {
  const prefix = `${channel}:`;
  return {
    async list(): Promise<readonly NamedChat[]> {
      const spoken = await db
        .selectFrom("turns")
        // What a rewind set aside belongs to no session.
        .innerJoin("sessions", (join) =>
          join
            .onRef("sessions.workspace", "=", "turns.workspace")
            .onRef("sessions.chat_key", "=", "turns.chat_key")
            .onRef("sessions.session_id", "=", "turns.session_id"),
        )
        .select(({ fn }) => [
          "turns.workspace",
          "turns.chat_key",
          fn.countAll<number | string>().as("messages"),
          fn.max("turns.at").as("last_at"),
        ])
        .where("turns.role", "=", "user")
        .where("turns.chat_key", "like", `${prefix}%`)
        .groupBy(["turns.workspace", "turns.chat_key"])
        .orderBy("last_at", "desc")
        .limit(MOST_LISTED)
        .execute();
      const chats: NamedChat[] = [];
      for (const { workspace: place, chat_key, messages, last_at } of spoken) {
        const last = await db
          .selectFrom("turns")
          .select("text")
          .where("workspace", "=", place)
          .where("chat_key", "=", chat_key)
          .where("role", "=", "user")
          .where("at", "=", last_at)
          .orderBy("position", "desc")
          .executeTakeFirst();
        chats.push({
          name: chat_key.slice(prefix.length),
          workspace: place,
          here: place === workspace,
          messages: Number(messages),
          lastAt: last_at,
          lastText: oneLine(last?.text ?? ""),
        });
      }
      return chats;
    },
    /** False: there is none such. Whoever calls holds the chat's turn. */
    forget: (name: string): Promise<boolean> =>
      db.transaction().execute(async (within) => {
        let rows = 0n;
        for (const table of OF_A_CHAT)
          rows += (
            await within
              .deleteFrom(table)
              .where("workspace", "=", workspace)
              .where("chat_key", "=", `${prefix}${name}`)
              .executeTakeFirst()
          ).numDeletedRows;
        return rows > 0n;
      }),
  };
}
