import type { Kysely, Transaction } from "kysely";
import type { SessionStore } from "../../application/ports/sessions.ts";
import type { Database } from "./schema.ts";
import { readNote, readSession, readSettings, readTurn, toSessionRow } from "./session-rows.ts";
import { storable } from "./storable.ts";

/** Rows a statement may carry. */
const BATCH = 500;

export interface SessionStoreParts {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  /** The root of the workspace whose chats are kept; those of other workspaces are out of sight. */
  readonly workspace: string;
}

export function createSessionStore({ db, now, workspace }: SessionStoreParts): SessionStore {
  const sessionsOf = (chatKey: string) =>
    db.selectFrom("sessions").selectAll().where("workspace", "=", workspace).where("chat_key", "=", chatKey);
  const turnsOf = (chatKey: string, sessionId: string) =>
    db
      .selectFrom("turns")
      .selectAll()
      .where("workspace", "=", workspace)
      .where("chat_key", "=", chatKey)
      .where("session_id", "=", sessionId);
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
    async append(chatKey, sessionId, turns) {
      if (turns.length === 0) return;
      await db.transaction().execute(async (transaction) => {
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
        for (let i = 0; i < rows.length; i += BATCH)
          await transaction
            .insertInto("turns")
            .values(rows.slice(i, i + BATCH))
            .execute();
      });
    },
    async turns(chatKey, sessionId, { after, limit }) {
      const rows = await turnsOf(chatKey, sessionId)
        .where("position", ">", after)
        .orderBy("position")
        .limit(limit)
        .execute();
      return split(rows.map(readTurn));
    },
    async lastTurns(chatKey, sessionId, limit, after) {
      const rows = await turnsOf(chatKey, sessionId)
        .where("position", ">", after)
        .orderBy("position", "desc")
        .limit(limit)
        .execute();
      return split(rows.reverse().map(readTurn));
    },
    async saveSummary(chatKey, sessionId, { text, upTo }) {
      await db
        .updateTable("sessions")
        .set({ summary: storable(text), summary_up_to: upTo })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", sessionId)
        .where("summary_up_to", "<", upTo)
        .execute();
    },
    async saveNote(note) {
      const values = { text: storable(note.text), turn_count: note.turns, saved_at: note.savedAt };
      await db
        .insertInto("daily_notes")
        .values({ workspace, chat_key: note.chatKey, session_id: note.sessionId, ...values })
        .onConflict((conflict) =>
          conflict.columns(["workspace", "chat_key", "session_id"]).doUpdateSet(values),
        )
        .execute();
    },
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
    async clearSummary(chatKey, sessionId) {
      await db
        .updateTable("sessions")
        .set({ carried: "", summary: "" })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", sessionId)
        .execute();
    },
    setAside: (chatKey, sessionId, after, name) =>
      db.transaction().execute(async (transaction) => {
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
    async putBack(chatKey, sessionId, name) {
      await db
        .updateTable("turns")
        .set({ session_id: sessionId })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("session_id", "=", name)
        .execute();
    },
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

/**
 * What a chat said before sessions had a workspace goes to the first one in which the chat goes on. False when there is
 * nothing, or another workspace was first.
 */
async function adoptHistory(db: Kysely<Database>, workspace: string, chatKey: string): Promise<boolean> {
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

function split<T>(read: readonly (T | null)[]): { turns: T[]; damaged: number } {
  const turns = read.filter((turn) => turn !== null);
  return { turns, damaged: read.length - turns.length };
}
