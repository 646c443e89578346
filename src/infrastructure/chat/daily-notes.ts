import type { SessionStore } from "../../application/ports/chat.ts";
import { readNote } from "./session-rows.ts";
import { storable } from "../store/storable.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";

type DailyNotes = Pick<SessionStore, "saveNote" | "note" | "notes" | "removeNote">;

/** The notes of past days. */
export function createDailyNotes({ db, workspace, held }: TurnFenceDeps): DailyNotes {
  const inTurn = createTurnFence({ db, workspace, held });
  return {
    saveNote: (note) =>
      inTurn(note.chatKey, async (within) => {
        const values = { text: storable(note.text), turn_count: note.turns, saved_at: note.savedAt };
        await within
          .insertInto("daily_notes")
          .values({ workspace, chat_key: note.chatKey, session_id: note.sessionId, ...values })
          .onConflict((conflict) =>
            conflict.columns(["workspace", "chat_key", "session_id"]).doUpdateSet(values),
          )
          .execute();
      }),
    async note(chatKey, sessionId) {
      const row = await db
        .selectFrom("daily_notes")
        .selectAll()
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", sessionId)
        .executeTakeFirst();
      return row === undefined ? null : readNote(row);
    },
    async notes(chatKey, limit) {
      const rows = await db
        .selectFrom("daily_notes")
        .selectAll()
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .orderBy("saved_at", "desc")
        .orderBy("session_id", "desc")
        .limit(limit)
        .execute();
      return rows.map(readNote).filter((note) => note !== null);
    },
    async removeNote(chatKey, sessionId) {
      const { numDeletedRows } = await db
        .deleteFrom("daily_notes")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", sessionId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
