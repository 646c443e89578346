import type {
  ChatSettings,
  DailyNote,
  NewSession,
  Rewound,
  Session,
  Turn,
} from "../../application/ports/chat.ts";
import type { NoteRow, SessionRow, TurnRow } from "../store/chat-tables.ts";
import { storable } from "../store/storable.ts";

/** Rows may come from a damaged file or another program: each is checked, and null when it cannot be what it claims. */
export function readSession(row: SessionRow): Session | null {
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

export function toSessionRow(workspace: string, session: NewSession): SessionRow {
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

export function readTurn(row: TurnRow): Turn | null {
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

export function readNote(row: NoteRow): DailyNote | null {
  if (!isText(row.text) || !isTime(row.saved_at) || !isCount(Number(row.turn_count))) return null;
  return {
    chatKey: row.chat_key,
    sessionId: row.session_id,
    text: row.text,
    turns: Number(row.turn_count),
    savedAt: row.saved_at,
  };
}

/** Settings that were saved but cannot be read hold nothing back by mistake: the chat is dry until told otherwise. */
export function readSettings(text: unknown): ChatSettings {
  if (text === undefined) return { dry: false, memory: {}, rewound: [] };
  const settings = isText(text) ? parseJson(text) : undefined;
  return {
    dry: settings === undefined || settings.dry === true,
    memory: readMemory(settings?.memory),
    rewound: Array.isArray(settings?.rewound) ? settings.rewound.flatMap(readRewound) : [],
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
