import { chatKeyOf } from "../../domain/chat/session-id.ts";
import { changedMemory } from "../../domain/chat/session-memory.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type {
  ChatSettings,
  DailyNote,
  NewTurn,
  Session,
  SessionMemory,
  SessionStore,
  Turn,
} from "../ports/chat.ts";
import { createRewoundTurns, type RewoundTurns } from "./aside.ts";
import { compactSession, newestTurns } from "./compact-session.ts";
import { type CutOverResult, cutOver } from "./cut-over.ts";
import { type ForkResult, forkSession } from "./fork-session.ts";
import { openNewSession, resumeSession } from "./open-session.ts";
import type { Chat, SessionDeps } from "./session-parts.ts";

/**
 * The sessions of all chats. Whoever calls holds the chat's turn in the queue, so a session is never cut while its
 * chat is busy: `open` runs at the beginning of a message, `cutDue` only where nothing is under way.
 */
export interface Sessions extends RewoundTurns {
  /** The session a message belongs to. A session whose day is over is cut first. */
  open(chat: Chat, signal: AbortSignal): Promise<OpenedSession>;
  append(session: Session, turns: readonly NewTurn[]): Promise<void>;
  /** What a model is given of a session just opened, within the budget of tokens. Asks no model. */
  context(session: Session): Promise<SessionContext>;
  /** Folds older turns into the running summary once they no longer fit. Called after the reply. */
  compact(session: Session, signal: AbortSignal): Promise<void>;
  /** `/new`: a session of its own, with nothing carried over. */
  startNew(session: Session, signal: AbortSignal): Promise<CutOverResult>;
  /** `/resume`: the session before this one, or the named one, goes on; what was said since moves to its end. */
  resume(session: Session, sessionId?: string): Promise<Session | null>;
  /** Whether this chat has a session before this one. */
  hasEarlier(session: Session): Promise<boolean>;
  /** Another chat, which has not begun, begins with what this one knows. */
  fork(from: Chat, to: Chat): Promise<ForkResult>;
  /** For a server at midnight: cuts what is due in chats that `hold` gets hold of. */
  cutDue(
    hold: (chatKey: string, work: () => Promise<void>) => Promise<void>,
    signal: AbortSignal,
  ): Promise<CutOverResult[]>;
  /** When `cutDue` has something to do next. */
  nextCut(): Date;
  settings(chat: Chat): Promise<ChatSettings>;
  saveSettings(chat: Chat, change: Partial<ChatSettings>): Promise<void>;
  /** Notes of past sessions, newest first. */
  notes(session: Session): Promise<readonly DailyNote[]>;
  /** Forgets a note; what the open session carries of it goes with it. False when there is none such. */
  forgetNote(session: Session, note: DailyNote): Promise<boolean>;
  /** Forgets what the session knows from before its turns. */
  forgetSummary(session: Session): Promise<void>;
  /** What the user keeps by name in this session. */
  memory(session: Session): Promise<SessionMemory>;
  /** Null forgets the name. False when it does not fit: too many names, or too long. */
  keep(session: Session, name: string, value: string | null): Promise<boolean>;
}

export interface OpenedSession {
  readonly session: Session;
  /** The day's end, to be announced. */
  readonly cutOver: CutOverResult | null;
  /** Rows that could not be read and were passed over. */
  readonly damaged: number;
}

export interface SessionContext {
  /** What is known from before the turns; empty when nothing is. */
  readonly memory: string;
  /** The newest ones that fit, in order. */
  readonly turns: readonly Turn[];
  readonly damaged: number;
}

/** A message of a megabyte is kept by its head and tail. */
const TURN_CHARS = 64 * 1024;
/** More turns than any budget takes. */
const MOST_HISTORY_TURNS = 400;
const DUE_AT_ONCE = 100;
/** Busy chats hold up no more than these. */
const CUT_AT_ONCE = 4;

export function createSessions(parts: SessionDeps): Sessions {
  const { store, clock, now, mask } = parts;
  return {
    async open(chat, signal) {
      const chatKey = chatKeyOf(chat.channel, chat.chatId);
      const { session, damaged } = await store.current(chatKey);
      if (damaged > 0)
        parts.log.warn("session", "Session row unreadable, skipped", "session.damaged", { chat: chatKey });
      if (session === null)
        return { session: await openNewSession(parts, chat, null, ""), cutOver: null, damaged };
      const kept = await keepOrNull(parts, session);
      if (kept !== null) return { session: kept, cutOver: await withoutTold(store, kept), damaged };
      const done = await cutOver(parts, session, { carry: true, signal });
      return { session: done.session, cutOver: done.cut ? done : null, damaged };
    },
    append: (session, turns) =>
      store.append(
        session.chatKey,
        session.id,
        turns.map((turn) => ({ ...turn, text: cutMiddle(mask(turn.text), TURN_CHARS) })),
      ),
    async context(session) {
      const { carried, summary } = session;
      const { turns, damaged } = await store.lastTurns(
        session.chatKey,
        session.id,
        MOST_HISTORY_TURNS,
        summary.upTo,
      );
      const memory = [carried, summary.text].filter((text) => text !== "").join("\n\n");
      return { memory, turns: newestTurns(turns, parts.historyTokens), damaged };
    },
    compact: (session, signal) => compactSession(parts, session, signal),
    startNew: (session, signal) => cutOver(parts, session, { carry: false, signal }),
    resume: (session, sessionId) => resumeSession(parts, session, sessionId),
    hasEarlier: async ({ chatKey, id, openedAt }) =>
      (await store.list(chatKey, 20)).some(
        (one) => one.id !== id && one.openedAt <= openedAt && one.turns > 0,
      ),
    fork: (from, to) => forkSession(parts, from, to),
    ...createRewoundTurns(store),
    async cutDue(hold, signal) {
      const done: CutOverResult[] = [];
      const due = (await store.due(now(), DUE_AT_ONCE)).map(({ chatKey }) => chatKey);
      const cutNext = async (): Promise<void> => {
        for (let chatKey = due.shift(); chatKey !== undefined && !signal.aborted; chatKey = due.shift()) {
          const key = chatKey;
          await hold(key, async () => {
            const { session } = await store.current(key);
            if (session === null || (await keepOrNull(parts, session)) !== null) return;
            const result = await cutOver(parts, session, { carry: true, signal });
            if (result.cut) done.push(result);
          });
        }
      };
      await Promise.all(Array.from({ length: CUT_AT_ONCE }, cutNext));
      return done;
    },
    nextCut: () => clock.nextCut(now()),
    settings: ({ channel, chatId }) => store.settings(chatKeyOf(channel, chatId)),
    saveSettings: ({ channel, chatId }, change) => store.saveSettings(chatKeyOf(channel, chatId), change),
    notes: ({ chatKey }) => store.notes(chatKey, MOST_NOTES),
    async forgetNote({ chatKey, id, carried }, note) {
      if (!(await store.removeNote(chatKey, note.sessionId))) return false;
      if (carried === note.text) await store.clearSummary(chatKey, id);
      return true;
    },
    forgetSummary: ({ chatKey, id }) => store.clearSummary(chatKey, id),
    async memory({ chatKey, id }) {
      return (await store.settings(chatKey)).memory[id] ?? {};
    },
    async keep({ chatKey, id }, name, value) {
      const { memory } = await store.settings(chatKey);
      const changed = changedMemory(memory[id] ?? {}, mask(name), value === null ? null : mask(value));
      if (changed === null) return false;
      const others = Object.entries(memory).filter(([session]) => session !== id);
      const kept = [...others.slice(1 - MOST_SESSIONS), [id, changed] as const];
      await store.saveSettings(chatKey, { memory: Object.fromEntries(kept) });
      return true;
    },
  };
}

/** Sessions whose memory is kept, for `/resume`. */
const MOST_SESSIONS = 8;
const MOST_NOTES = 30;

/** The first message after a cut-over says that it happened. */
async function withoutTold(store: SessionStore, session: Session): Promise<CutOverResult | null> {
  if (session.turns > 0 || session.carried === "") return null;
  const [, previous] = await store.list(session.chatKey, 2);
  return { session, previousId: previous?.id ?? "", cut: true, note: session.carried };
}

const TWO_DAYS_MS = 48 * 3_600_000;

/**
 * The session when its day is not over, null when it is. The time of cut-over was reckoned when the session began; it
 * is reckoned anew when the time zone was changed, or when it lies too far ahead because the clock had been wrong.
 */
async function keepOrNull(parts: SessionDeps, session: Session): Promise<Session | null> {
  const { clock, now, store } = parts;
  const time = now().getTime();
  const ahead = Date.parse(session.cut.at) - time;
  if (ahead > 0 && ahead <= TWO_DAYS_MS && session.cut.clock === clock.name) return session;
  if (ahead <= 0 && session.cut.clock === clock.name) return null;
  const begun = new Date(Math.min(Date.parse(session.openedAt), time));
  const reckoned = ahead > TWO_DAYS_MS ? clock.nextCut(now()) : clock.nextCut(begun);
  if (reckoned.getTime() <= time) return null;
  const cut = { at: reckoned.toISOString(), clock: clock.name };
  await store.setCut(session.chatKey, session.id, cut);
  return { ...session, cut };
}
