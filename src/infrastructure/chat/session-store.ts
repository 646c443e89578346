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
import { attemptOr } from "../../domain/platform/error-text.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  fromRow,
  insertRows,
  type NoteRow,
  type SessionRow,
  selectRows,
  storable,
  type TurnRow,
  toRow,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

/** Rows may come from a damaged file or another program: each is checked, and null when it cannot be what it claims. */
function readSession(row: SessionRow): Session | null {
  const {
    workspace: _,
    sessionId: id,
    cutAt,
    cutClock,
    summary,
    summaryUpTo,
    turnCount,
    ...known
  } = fromRow(row);
  const texts = [known.chatKey, id, known.channel, known.chatId, known.carried, summary, cutClock];
  if (!texts.every(isText) || !id || !isTime(known.openedAt) || !isTime(cutAt)) return null;
  if (known.closedAt !== null && !isTime(known.closedAt)) return null;
  const [turns, upTo] = [Number(turnCount), Number(summaryUpTo)];
  if (!isCount(turns) || !isCount(upTo)) return null;
  const cut = { at: cutAt, clock: cutClock };
  return { ...known, id, cut, summary: { text: summary, upTo: Math.min(upTo, turns) }, turns };
}

function toSessionRow(workspace: string, session: NewSession): SessionRow {
  const { chatKey, channel, chatId, openedAt, cut, carried } = session;
  return {
    ...toRow({ workspace, chatKey, sessionId: session.id, channel, chatId, openedAt, closedAt: null }),
    ...toRow({ cutAt: cut.at, cutClock: cut.clock, carried: storable(carried) }),
    ...toRow({ summary: "", summaryUpTo: 0, turnCount: 0 }),
  };
}

function readTurn({ role, text, agent, at, position, group_id }: TurnRow): Turn | null {
  if (role !== "user" && role !== "assistant") return null;
  if (!isText(text) || !isText(agent) || !isTime(at) || !isCount(position)) return null;
  return { position, at, role, text, agent, groupId: isText(group_id) ? group_id : null };
}

function readNote(row: NoteRow): DailyNote | null {
  const { chatKey, sessionId, text, savedAt, turnCount } = fromRow(row);
  if (!isText(text) || !isTime(savedAt) || !isCount(Number(turnCount))) return null;
  return { chatKey, sessionId, text, turns: Number(turnCount), savedAt };
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
  const value: unknown = attemptOr(undefined, () => JSON.parse(text));
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
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

function createChatSettings({
  db,
  workspace,
  held,
}: ChatRowsDeps): Pick<SessionStore, "settings" | "saveSettings"> {
  const inTurn = createTurnFence({ db, held });
  const settingsOf = async (within: Kysely<Database>, chatKey: string) =>
    readSettings((await selectRows(within, "chat_settings", { workspace, chat_key: chatKey }))[0]?.settings);
  return {
    settings: (chatKey) => settingsOf(db, chatKey),
    saveSettings: (chatKey, change) =>
      inTurn(chatKey, async (transaction) => {
        const settings = JSON.stringify({ ...(await settingsOf(transaction, chatKey)), ...change });
        const row = { workspace, chat_key: chatKey, settings };
        await upsertRow(transaction, "chat_settings", row, ["workspace", "chat_key"]);
      }),
  };
}

type DailyNotes = Pick<SessionStore, "saveNote" | "note" | "notes" | "removeNote">;

function createDailyNotes({ db, workspace, held }: ChatRowsDeps): DailyNotes {
  const inTurn = createTurnFence({ db, held });
  return {
    saveNote: (note) =>
      inTurn(note.chatKey, async (within) => {
        const values = { text: storable(note.text), turn_count: note.turns, saved_at: note.savedAt };
        const row = { workspace, chat_key: note.chatKey, session_id: note.sessionId, ...values };
        await upsertRow(within, "daily_notes", row, ["workspace", "chat_key", "session_id"]);
      }),
    async note(chatKey, sessionId) {
      const [row] = await selectRows(db, "daily_notes", inSession(workspace, chatKey, sessionId));
      return row === undefined ? null : readNote(row);
    },
    async notes(chatKey, limit) {
      const order = sql`order by saved_at desc, session_id desc limit ${limit}`;
      const rows = await selectRows(db, "daily_notes", { workspace, chat_key: chatKey }, order);
      return rows.map(readNote).filter((note) => note !== null);
    },
    removeNote: async (chatKey, sessionId) =>
      (await deleteRows(db, "daily_notes", inSession(workspace, chatKey, sessionId))) > 0,
  };
}

const TURNS_A_BATCH = 500;

type SessionTurns = Pick<
  SessionStore,
  "append" | "turns" | "lastTurns" | "saveSummary" | "clearSummary" | "setAside" | "putBack"
>;

function createSessionTurns({ db, workspace, held }: ChatRowsDeps): SessionTurns {
  const inTurn = createTurnFence({ db, held });
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
        const rows = turns.map(({ at, role, agent, text, groupId }, index) => ({
          ...inSession(workspace, chatKey, sessionId),
          ...{ position: first + index, at, role, agent, text: storable(text), group_id: groupId },
        }));
        for (let i = 0; i < rows.length; i += TURNS_A_BATCH)
          await insertRows(transaction, "turns", rows.slice(i, i + TURNS_A_BATCH));
      });
    },
    async turns(chatKey, sessionId, { after, limit }) {
      const rest = sql`and position > ${after} order by position limit ${limit}`;
      const rows = await selectRows(db, "turns", inSession(workspace, chatKey, sessionId), rest);
      return splitBatches(rows.map(readTurn));
    },
    async lastTurns(chatKey, sessionId, limit, after) {
      const rest = sql`and position > ${after} order by position desc limit ${limit}`;
      const rows = await selectRows(db, "turns", inSession(workspace, chatKey, sessionId), rest);
      return splitBatches(rows.reverse().map(readTurn));
    },
    saveSummary: (chatKey, sessionId, { text, upTo }) =>
      inTurn(chatKey, (transaction) => {
        const set = { summary: storable(text), summary_up_to: upTo };
        const isFurther = sql`and summary_up_to < ${upTo}`;
        return updateRows(transaction, "sessions", inSession(workspace, chatKey, sessionId), set, isFurther);
      }),
    clearSummary: (chatKey, sessionId) =>
      inTurn(chatKey, (transaction) => {
        const set = { carried: "", summary: "" };
        return updateRows(transaction, "sessions", inSession(workspace, chatKey, sessionId), set);
      }),
    setAside: (chatKey, sessionId, after, name) =>
      inTurn(chatKey, async (transaction) => {
        const session = inSession(workspace, chatKey, sessionId);
        const isLater = sql`and position > ${after}`;
        await updateRows(transaction, "turns", session, { session_id: name }, isLater);
        const forgotten = { summary: "", summary_up_to: 0 };
        await updateRows(transaction, "sessions", session, forgotten, sql`and summary_up_to > ${after}`);
      }),
    putBack: (chatKey, sessionId, name) =>
      inTurn(chatKey, (transaction) =>
        updateRows(transaction, "turns", inSession(workspace, chatKey, name), { session_id: sessionId }),
      ),
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
  return {
    async current(chatKey) {
      const [row] = await selectRows(db, "sessions", { workspace, chat_key: chatKey, closed_at: null });
      const session = row === undefined ? null : readSession(row);
      return { session, damaged: row !== undefined && session === null ? 1 : 0 };
    },
    async find(chatKey, sessionId) {
      const [row] = await selectRows(db, "sessions", inSession(workspace, chatKey, sessionId));
      return row === undefined ? null : readSession(row);
    },
    async list(chatKey, limit) {
      const order = sql`order by opened_at desc, session_id desc limit ${limit}`;
      const rows = await selectRows(db, "sessions", { workspace, chat_key: chatKey }, order);
      return rows.map(readSession).filter((session) => session !== null);
    },
    async due(at, limit) {
      const rest = sql`and cut_at <= ${at.toISOString()} order by cut_at limit ${limit}`;
      const rows = await selectRows(db, "sessions", { workspace, closed_at: null }, rest);
      return rows.map(readSession).filter((session) => session !== null);
    },
    open: (next, from) =>
      db.transaction().execute(async (transaction) => {
        const session = inSession(workspace, next.chatKey, next.id);
        if ((await selectRows(transaction, "sessions", session)).length > 0) return "taken";
        if (!(await closeOpen(transaction, workspace, next.chatKey, from, now()))) return "moved";
        const row = toSessionRow(workspace, next);
        return (await insertRows(transaction, "sessions", [row], sql`on conflict do nothing`)) === 1
          ? "opened"
          : "moved";
      }),
    reopen: (chatKey, sessionId, from, cut) =>
      db.transaction().execute(async (transaction) => {
        const wanted = inSession(workspace, chatKey, sessionId);
        const [older] = await selectRows(transaction, "sessions", wanted, sql`and closed_at is not null`);
        if (older === undefined || !(await closeOpen(transaction, workspace, chatKey, from, now())))
          return false;
        const left = inSession(workspace, chatKey, from);
        const behind = { session_id: sessionId, position: sql`position + ${older.turn_count}` };
        await updateRows(transaction, "turns", left, behind);
        const [end] = await selectRows(transaction, "turns", wanted, sql`order by position desc limit 1`);
        const last = Math.max(older.turn_count, end?.position ?? 0);
        await updateRows(transaction, "sessions", left, { turn_count: 0, summary: "", summary_up_to: 0 });
        const open = { closed_at: null, cut_at: cut.at, cut_clock: cut.clock, turn_count: last };
        await updateRows(transaction, "sessions", wanted, open);
        return true;
      }),
    async setCut(chatKey, sessionId, cut) {
      const set = { cut_at: cut.at, cut_clock: cut.clock };
      await updateRows(db, "sessions", inSession(workspace, chatKey, sessionId), set);
    },
  };
}

/** A session as its rows name it, in every table. */
function inSession(workspace: string, chatKey: string, sessionId: string) {
  return { workspace, chat_key: chatKey, session_id: sessionId };
}

/** Closes the open session if it is `from`, or one that cannot be read; false when it is another. */
async function closeOpen(
  transaction: Transaction<Database>,
  workspace: string,
  chatKey: string,
  from: string | null,
  at: Date,
): Promise<boolean> {
  const [row] = await selectRows(transaction, "sessions", { workspace, chat_key: chatKey, closed_at: null });
  if (row === undefined) return from === null;
  if (row.session_id !== from && readSession(row) !== null) return false;
  const open = { ...inSession(workspace, chatKey, row.session_id), closed_at: null };
  return (await updateRows(transaction, "sessions", open, { closed_at: at.toISOString() })) === 1;
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
        let rows = 0;
        for (const table of OF_A_CHAT)
          rows += await deleteRows(within, table, { workspace, chat_key: `${prefix}${name}` });
        return rows > 0;
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
