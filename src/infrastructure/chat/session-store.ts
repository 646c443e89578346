import type { Transaction } from "kysely";
import type { SessionStore } from "../../application/ports/chat.ts";
import { adoptHistory } from "./adopt-history.ts";
import { createChatSettings } from "./chat-settings.ts";
import { createDailyNotes } from "./daily-notes.ts";
import type { Database } from "../store/schema.ts";
import { readSession, toSessionRow } from "./session-rows.ts";
import { createSessionTurns } from "./session-turns.ts";
import type { TurnFenceDeps } from "../store/liveness.ts";

type SessionRows = Pick<SessionStore, "current" | "find" | "list" | "due" | "open" | "reopen" | "setCut">;

/** `workspace`: the root of that whose chats are kept; those of other workspaces are out of sight. */
export interface SessionStoreDeps extends TurnFenceDeps {
  readonly now: () => Date;
}

export function createSessionStore(parts: SessionStoreDeps): SessionStore {
  return {
    ...createSessionRows(parts),
    ...createSessionTurns(parts),
    ...createDailyNotes(parts),
    ...createChatSettings(parts),
  };
}

function createSessionRows({ db, now, workspace }: SessionStoreDeps): SessionRows {
  const sessionsOf = (chatKey: string) =>
    db.selectFrom("sessions").selectAll().where("workspace", "=", workspace).where("chat_key", "=", chatKey);
  const openOf = (chatKey: string) => sessionsOf(chatKey).where("closed_at", "is", null).executeTakeFirst();
  return {
    async current(chatKey) {
      const row =
        (await openOf(chatKey)) ??
        ((await adoptHistory(db, workspace, chatKey)) ? await openOf(chatKey) : undefined);
      const session = row === undefined ? null : readSession(row);
      return { session, damaged: row !== undefined && session === null ? 1 : 0 };
    },
    async find(chatKey, sessionId) {
      const row = await sessionsOf(chatKey).where("session_id", "=", sessionId).executeTakeFirst();
      return row === undefined ? null : readSession(row);
    },
    async list(chatKey, limit) {
      const rows = await sessionsOf(chatKey)
        .orderBy("opened_at", "desc")
        .orderBy("session_id", "desc")
        .limit(limit)
        .execute();
      return rows.map(readSession).filter((session) => session !== null);
    },
    async due(at, limit) {
      const rows = await db
        .selectFrom("sessions")
        .selectAll()
        .where("workspace", "=", workspace)
        .where("closed_at", "is", null)
        .where("cut_at", "<=", at.toISOString())
        .orderBy("cut_at")
        .limit(limit)
        .execute();
      return rows.map(readSession).filter((session) => session !== null);
    },
    open: (next, from) =>
      db.transaction().execute(async (transaction) => {
        const there = await transaction
          .selectFrom("sessions")
          .select("session_id")
          .where("workspace", "=", workspace)
          .where("chat_key", "=", next.chatKey)
          .where("session_id", "=", next.id)
          .executeTakeFirst();
        if (there !== undefined) return "taken";
        if (!(await closeOpen(transaction, workspace, next.chatKey, from, now()))) return "moved";
        const added = await transaction
          .insertInto("sessions")
          .values(toSessionRow(workspace, next))
          .onConflict((conflict) => conflict.doNothing())
          .returning("session_id")
          .execute();
        return added.length === 1 ? "opened" : "moved";
      }),
    reopen: (chatKey, sessionId, from, cut) =>
      db.transaction().execute(async (transaction) => {
        const older = await transaction
          .selectFrom("sessions")
          .select("turn_count")
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .where("closed_at", "is not", null)
          .executeTakeFirst();
        if (older === undefined || !(await closeOpen(transaction, workspace, chatKey, from, now())))
          return false;
        const moved = await transaction
          .updateTable("turns")
          .set(({ eb }) => ({ session_id: sessionId, position: eb("position", "+", older.turn_count) }))
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", from)
          .returning("position")
          .execute();
        const last = moved.reduce((most, { position }) => Math.max(most, position), older.turn_count);
        await transaction
          .updateTable("sessions")
          .set({ turn_count: 0, summary: "", summary_up_to: 0 })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", from)
          .execute();
        await transaction
          .updateTable("sessions")
          .set({ closed_at: null, cut_at: cut.at, cut_clock: cut.clock, turn_count: last })
          .where("workspace", "=", workspace)
          .where("chat_key", "=", chatKey)
          .where("session_id", "=", sessionId)
          .execute();
        return true;
      }),
    async setCut(chatKey, sessionId, cut) {
      await db
        .updateTable("sessions")
        .set({ cut_at: cut.at, cut_clock: cut.clock })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", sessionId)
        .execute();
    },
  };
}

/** Closes the open session if it is `from`, or one that nobody can read; false when it is another. */
async function closeOpen(
  transaction: Transaction<Database>,
  workspace: string,
  chatKey: string,
  from: string | null,
  at: Date,
): Promise<boolean> {
  const row = await transaction
    .selectFrom("sessions")
    .selectAll()
    .where("workspace", "=", workspace)
    .where("chat_key", "=", chatKey)
    .where("closed_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) return from === null;
  if (row.session_id !== from && readSession(row) !== null) return false;
  const closed = await transaction
    .updateTable("sessions")
    .set({ closed_at: at.toISOString() })
    .where("workspace", "=", workspace)
    .where("chat_key", "=", chatKey)
    .where("session_id", "=", row.session_id)
    .where("closed_at", "is", null)
    .returning("session_id")
    .execute();
  return closed.length === 1;
}
