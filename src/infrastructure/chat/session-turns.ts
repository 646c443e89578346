import type { SessionStore } from "../../application/ports/chat.ts";
import { readTurn } from "./session-rows.ts";
import { storable } from "../store/storable.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";

/** Rows a statement may carry. */
const TURNS_A_BATCH = 500;

type SessionTurns = Pick<
  SessionStore,
  "append" | "turns" | "lastTurns" | "saveSummary" | "clearSummary" | "setAside" | "putBack"
>;

/** What was said in a session, and the running summary of it. */
export function createSessionTurns({ db, workspace, held }: TurnFenceDeps): SessionTurns {
  const inTurn = createTurnFence({ db, workspace, held });
  const turnsOf = (chatKey: string, sessionId: string) =>
    db
      .selectFrom("turns")
      .selectAll()
      .where("workspace", "=", workspace)
      .where("chat_key", "=", chatKey)
      .where("session_id", "=", sessionId);
  return {
    async append(chatKey, sessionId, turns) {
      if (turns.length === 0) return;
      await inTurn(chatKey, async (transaction) => {
        const counted = await transaction
          .updateTable("sessions")
          .set(({ eb }) => ({ turn_count: eb("turn_count", "+", turns.length) }))
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .returning("turn_count")
          .executeTakeFirstOrThrow();
        const first = counted.turn_count - turns.length + 1;
        const rows = turns.map((turn, index) => ({
          workspace,
          chat_key: chatKey,
          session_id: sessionId,
          position: first + index,
          at: turn.at,
          role: turn.role,
          agent: turn.agent,
          text: storable(turn.text),
          group_id: turn.groupId,
        }));
        for (let i = 0; i < rows.length; i += TURNS_A_BATCH)
          await transaction
            .insertInto("turns")
            .values(rows.slice(i, i + TURNS_A_BATCH))
            .execute();
      });
    },
    async turns(chatKey, sessionId, { after, limit }) {
      const rows = await turnsOf(chatKey, sessionId)
        .where("position", ">", after)
        .orderBy("position")
        .limit(limit)
        .execute();
      return splitBatches(rows.map(readTurn));
    },
    async lastTurns(chatKey, sessionId, limit, after) {
      const rows = await turnsOf(chatKey, sessionId)
        .where("position", ">", after)
        .orderBy("position", "desc")
        .limit(limit)
        .execute();
      return splitBatches(rows.reverse().map(readTurn));
    },
    saveSummary: (chatKey, sessionId, { text, upTo }) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("sessions")
          .set({ summary: storable(text), summary_up_to: upTo })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .where("summary_up_to", "<", upTo)
          .execute();
      }),
    clearSummary: (chatKey, sessionId) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("sessions")
          .set({ carried: "", summary: "" })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .execute();
      }),
    setAside: (chatKey, sessionId, after, name) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("turns")
          .set({ session_id: name })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .where("position", ">", after)
          .execute();
        await transaction
          .updateTable("sessions")
          .set({ summary: "", summary_up_to: 0 })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .where("summary_up_to", ">", after)
          .execute();
      }),
    putBack: (chatKey, sessionId, name) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("turns")
          .set({ session_id: sessionId })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", name)
          .execute();
      }),
  };
}

function splitBatches<T>(read: readonly (T | null)[]): { turns: T[]; damaged: number } {
  const turns = read.filter((turn) => turn !== null);
  return { turns, damaged: read.length - turns.length };
}
