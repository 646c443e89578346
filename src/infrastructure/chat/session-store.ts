import { type Kysely, sql, type Transaction } from "kysely";
import type {
  ChatSettings,
  DailyNote,
  NamedChat,
  NewSession,
  Rewound,
  Session,
  SessionStore,
  Turn,
} from "../../application/ports/chat.ts";
import { isEffort, type ModelChoiceOfRole, type ModelRole } from "../../application/ports/models.ts";
import { oneLine } from "../../domain/jobs/result.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";
import { type Database, type NoteRow, type SessionRow, storable, type TurnRow } from "../store/schema.ts";

/** Rows may come from a damaged file or another program: each is checked, and null when it cannot be what it claims. */
function readSession(row: SessionRow): Session | null {
  const texts = [
    row.chat_key,
    row.session_id,
    row.channel,
    row.chat_id,
    row.carried,
    row.summary,
    row.cut_clock,
  ];
  if (!texts.every(isText) || !row.session_id) return null;
  if (!isTime(row.opened_at) || !isTime(row.cut_at)) return null;
  if (row.closed_at !== null && !isTime(row.closed_at)) return null;
  const turns = Number(row.turn_count);
  const upTo = Number(row.summary_up_to);
  if (!isCount(turns) || !isCount(upTo)) return null;
  return {
    chatKey: row.chat_key,
    id: row.session_id,
    channel: row.channel,
    chatId: row.chat_id,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    cut: { at: row.cut_at, clock: row.cut_clock },
    carried: row.carried,
    summary: { text: row.summary, upTo: Math.min(upTo, turns) },
    turns,
  };
}

function toSessionRow(workspace: string, session: NewSession): SessionRow {
  return {
    workspace,
    chat_key: session.chatKey,
    session_id: session.id,
    channel: session.channel,
    chat_id: session.chatId,
    opened_at: session.openedAt,
    closed_at: null,
    cut_at: session.cut.at,
    cut_clock: session.cut.clock,
    carried: storable(session.carried),
    summary: "",
    summary_up_to: 0,
    turn_count: 0,
  };
}

function readTurn(row: TurnRow): Turn | null {
  const { role } = row;
  if (role !== "user" && role !== "assistant") return null;
  if (!isText(row.text) || !isText(row.agent) || !isTime(row.at) || !isCount(row.position)) return null;
  return {
    position: row.position,
    at: row.at,
    role,
    text: row.text,
    agent: row.agent,
    groupId: isText(row.group_id) ? row.group_id : null,
  };
}

function readNote(row: NoteRow): DailyNote | null {
  if (!isText(row.text) || !isTime(row.saved_at) || !isCount(Number(row.turn_count))) return null;
  return {
    chatKey: row.chat_key,
    sessionId: row.session_id,
    text: row.text,
    turns: Number(row.turn_count),
    savedAt: row.saved_at,
  };
}

/** If saved settings cannot be read, the chat falls back to dry runs: a lost `/dry` must not let a job change files. */
function readSettings(text: unknown): ChatSettings {
  if (text === undefined) return { dry: false, memory: {}, rewound: [], models: {} };
  const settings = isText(text) ? parseJson(text) : undefined;
  return {
    dry: settings === undefined || settings.dry === true,
    memory: readMemory(settings?.memory),
    rewound: Array.isArray(settings?.rewound) ? settings.rewound.flatMap(readRewound) : [],
    models: Object.fromEntries(
      entriesOf(settings?.models).flatMap(([role, value]) =>
        ROLES.has(role) ? [[role, readModelChoice(value)]] : [],
      ),
    ),
  };
}

const ROLES: ReadonlySet<string> = new Set<ModelRole>(["chat", "worker", "coder1", "coder2", "coder3"]);

function readModelChoice(value: unknown): ModelChoiceOfRole {
  const { provider, model, effort } = Object.fromEntries(entriesOf(value));
  return {
    ...(isText(provider) && { provider }),
    ...(isText(model) && { model }),
    ...(isText(effort) && isEffort(effort) && { effort }),
  };
}

function readRewound(value: unknown): Rewound[] {
  const { sessionId, name, jobIds, again } = Object.fromEntries(entriesOf(value));
  if (!isText(sessionId) || !isText(name) || !Array.isArray(jobIds)) return [];
  const redone = Array.isArray(again) ? again.filter(isText) : [];
  return [{ sessionId, name, jobIds: jobIds.filter(isText), again: redone }];
}

function readMemory(value: unknown): ChatSettings["memory"] {
  return Object.fromEntries(
    entriesOf(value).map(([session, values]) => [
      session,
      Object.fromEntries(entriesOf(values).filter((entry): entry is [string, string] => isText(entry[1]))),
    ]),
  );
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTime(value: unknown): value is string {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The settings of a chat that outlive a session. */
function createChatSettings({
  db,
  workspace,
  held,
}: ChatRowsDeps): Pick<SessionStore, "settings" | "saveSettings"> {
  const inTurn = createTurnFence({ db, held });
  const settingsOf = async (within: Kysely<Database>, chatKey: string) => {
    const { rows } = await sql<{ settings: string }>`select settings from chat_settings
      where workspace = ${workspace} and chat_key = ${chatKey}`.execute(within);
    return readSettings(rows[0]?.settings);
  };
  return {
    settings: (chatKey) => settingsOf(db, chatKey),
    saveSettings: (chatKey, change) =>
      inTurn(chatKey, async (transaction) => {
        const settings = JSON.stringify({ ...(await settingsOf(transaction, chatKey)), ...change });
        await transaction
          .insertInto("chat_settings")
          .values({ workspace, chat_key: chatKey, settings })
          .onConflict((conflict) => conflict.columns(["workspace", "chat_key"]).doUpdateSet({ settings }))
          .execute();
      }),
  };
}

type DailyNotes = Pick<SessionStore, "saveNote" | "note" | "notes" | "removeNote">;

/** The notes of past days. */
function createDailyNotes({ db, workspace, held }: ChatRowsDeps): DailyNotes {
  const inTurn = createTurnFence({ db, held });
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
        .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: sessionId }))
        .executeTakeFirst();
      return row === undefined ? null : readNote(row);
    },
    async notes(chatKey, limit) {
      const rows = await db
        .selectFrom("daily_notes")
        .selectAll()
        .where(({ and }) => and({ workspace, chat_key: chatKey }))
        .orderBy("saved_at", "desc")
        .orderBy("session_id", "desc")
        .limit(limit)
        .execute();
      return rows.map(readNote).filter((note) => note !== null);
    },
    async removeNote(chatKey, sessionId) {
      const { numDeletedRows } = await db
        .deleteFrom("daily_notes")
        .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: sessionId }))
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** Rows a statement may carry. */
const TURNS_A_BATCH = 500;

type SessionTurns = Pick<
  SessionStore,
  "append" | "turns" | "lastTurns" | "saveSummary" | "clearSummary" | "setAside" | "putBack"
>;

/** The messages of a session, and the running summary of it. */
function createSessionTurns({ db, workspace, held }: ChatRowsDeps): SessionTurns {
  const inTurn = createTurnFence({ db, held });
  const turnsOf = (chatKey: string, sessionId: string) =>
    db
      .selectFrom("turns")
      .selectAll()
      .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: sessionId }));
  return {
    async append(chatKey, sessionId, turns) {
      if (turns.length === 0) return;
      await inTurn(chatKey, async (transaction) => {
        const counted = sql<Pick<SessionRow, "turn_count">>`update sessions
          set turn_count = turn_count + ${turns.length}
          where workspace = ${workspace} and chat_key = ${chatKey} and session_id = ${sessionId}
          returning turn_count`;
        const [session] = (await counted.execute(transaction)).rows;
        if (session === undefined) throw new Error(`no session ${sessionId}`);
        const first = session.turn_count - turns.length + 1;
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
      const { rows } = await sql<TurnRow>`select * from turns
        where workspace = ${workspace} and chat_key = ${chatKey} and session_id = ${sessionId}
          and position > ${after} order by position desc limit ${limit}`.execute(db);
      return splitBatches(rows.reverse().map(readTurn));
    },
    saveSummary: (chatKey, sessionId, { text, upTo }) =>
      inTurn(chatKey, async (transaction) => {
        await updateSession(transaction, workspace, chatKey, sessionId)
          .set({ summary: storable(text), summary_up_to: upTo })
          .where("summary_up_to", "<", upTo)
          .execute();
      }),
    clearSummary: (chatKey, sessionId) =>
      inTurn(chatKey, async (transaction) => {
        await updateSession(transaction, workspace, chatKey, sessionId)
          .set({ carried: "", summary: "" })
          .execute();
      }),
    setAside: (chatKey, sessionId, after, name) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("turns")
          .set({ session_id: name })
          .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: sessionId }))
          .where("position", ">", after)
          .execute();
        await updateSession(transaction, workspace, chatKey, sessionId)
          .set({ summary: "", summary_up_to: 0 })
          .where("summary_up_to", ">", after)
          .execute();
      }),
    putBack: (chatKey, sessionId, name) =>
      inTurn(chatKey, async (transaction) => {
        await transaction
          .updateTable("turns")
          .set({ session_id: sessionId })
          .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: name }))
          .execute();
      }),
  };
}

function splitBatches<T>(read: readonly (T | null)[]): { turns: T[]; damaged: number } {
  const turns = read.filter((turn) => turn !== null);
  return { turns, damaged: read.length - turns.length };
}

type SessionRows = Pick<SessionStore, "current" | "find" | "list" | "due" | "open" | "reopen" | "setCut">;

interface ChatRowsDeps extends TurnFenceDeps {
  /** The root of that whose chats are kept; those of other workspaces are out of sight. */
  readonly workspace: string;
}

export interface SessionStoreDeps extends ChatRowsDeps {
  readonly now: () => Date;
}

export function createSessionStore(deps: SessionStoreDeps): SessionStore {
  return {
    ...createSessionRows(deps),
    ...createSessionTurns(deps),
    ...createDailyNotes(deps),
    ...createChatSettings(deps),
  };
}

function createSessionRows({ db, now, workspace }: SessionStoreDeps): SessionRows {
  const sessionsOf = (chatKey: string) =>
    db.selectFrom("sessions").selectAll().where("workspace", "=", workspace).where("chat_key", "=", chatKey);
  return {
    async current(chatKey) {
      const open = sql<SessionRow>`select * from sessions
        where workspace = ${workspace} and chat_key = ${chatKey} and closed_at is null`;
      const [row] = (await open.execute(db)).rows;
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
          .where(({ and }) => and({ workspace, chat_key: next.chatKey, session_id: next.id }))
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
          .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: sessionId }))
          .where("closed_at", "is not", null)
          .executeTakeFirst();
        if (older === undefined || !(await closeOpen(transaction, workspace, chatKey, from, now())))
          return false;
        const moved = await transaction
          .updateTable("turns")
          .set(({ eb }) => ({ session_id: sessionId, position: eb("position", "+", older.turn_count) }))
          .where(({ and }) => and({ workspace, chat_key: chatKey, session_id: from }))
          .returning("position")
          .execute();
        const last = moved.reduce((most, { position }) => Math.max(most, position), older.turn_count);
        await updateSession(transaction, workspace, chatKey, from)
          .set({ turn_count: 0, summary: "", summary_up_to: 0 })
          .execute();
        await updateSession(transaction, workspace, chatKey, sessionId)
          .set({ closed_at: null, cut_at: cut.at, cut_clock: cut.clock, turn_count: last })
          .execute();
        return true;
      }),
    async setCut(chatKey, sessionId, cut) {
      await updateSession(db, workspace, chatKey, sessionId)
        .set({ cut_at: cut.at, cut_clock: cut.clock })
        .execute();
    },
  };
}

function updateSession(db: Kysely<Database>, workspace: string, chatKey: string, sessionId: string) {
  const row = { workspace, chat_key: chatKey, session_id: sessionId };
  return db.updateTable("sessions").where(({ and }) => and(row));
}

/** Closes the open session if it is `from`, or one that cannot be read; false when it is another. */
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
    .where(({ and }) => and({ workspace, chat_key: chatKey }))
    .where("closed_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) return from === null;
  if (row.session_id !== from && readSession(row) !== null) return false;
  const closed = await updateSession(transaction, workspace, chatKey, row.session_id)
    .set({ closed_at: at.toISOString() })
    .where("closed_at", "is", null)
    .returning("session_id")
    .execute();
  return closed.length === 1;
}

export interface NamedChatsDeps {
  readonly db: Kysely<Database>;
  /** The workspace that is open, as the store names it. */
  readonly workspace: string;
  readonly channel: string;
}

const OF_A_CHAT = [
  "turns",
  "images",
  "file_pieces",
  "daily_notes",
  "chat_settings",
  "decisions",
  "sessions",
] as const;
const MOST_LISTED = 200;

export function createNamedChats({ db, workspace, channel }: NamedChatsDeps) {
  const prefix = `${channel}:`;
  return {
    async list(): Promise<readonly NamedChat[]> {
      const spoken = await db
        .selectFrom("turns")
        // Turns that a rewind set aside belong to no session.
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
          .where(({ and }) => and({ workspace: place, chat_key, role: "user", at: last_at }))
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
    /** False: there is no such session. The caller holds the chat's turn. */
    forget: (name: string): Promise<boolean> =>
      db.transaction().execute(async (within) => {
        let rows = 0n;
        for (const table of OF_A_CHAT)
          rows += (
            await within
              .deleteFrom(table)
              .where(({ and }) => and({ workspace, chat_key: `${prefix}${name}` }))
              .executeTakeFirst()
          ).numDeletedRows;
        return rows > 0n;
      }),
  };
}

/** The last turns of a chat's newest session, oldest first. */
export async function readSpokenTurns(
  store: Pick<SessionStore, "list" | "lastTurns">,
  chatKey: string,
  limit: number,
): Promise<readonly Turn[]> {
  const [last] = await store.list(chatKey, 1);
  return last === undefined ? [] : (await store.lastTurns(chatKey, last.id, limit, 0)).turns;
}
