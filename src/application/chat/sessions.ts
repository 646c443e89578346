import { changedMemory, sessionIdOf } from "../../domain/chat/session.ts";
import { estimateTokens } from "../../domain/models/model-facts.ts";
import type { DayClock } from "../../domain/platform/days.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { paragraphs } from "../../domain/texts/jobs-report.ts";
import {
  type ChatSettings,
  chatKeyOf,
  type DailyNote,
  type NewSession,
  type NewTurn,
  type Rewound,
  type Session,
  type SessionMemory,
  type SessionStore,
  type Turn,
} from "../ports/chat.ts";
import type { Logger } from "../ports/platform.ts";
import type { ChatQueue } from "./chat-queue.ts";
import type { JobHistory } from "./job-history.ts";
import type { Summarise } from "./summarise.ts";

export interface Chat {
  readonly channel: string;
  readonly chatId: string;
}

export interface SessionDeps {
  readonly store: SessionStore;
  readonly clock: DayClock;
  readonly now: () => Date;
  readonly summarise: Summarise;
  /** The outcome of the jobs of a chat's messages, from their journals. */
  readonly jobsOf: (chatKey: string) => Pick<JobHistory, "tell">;
  readonly log: Logger;
  /** Removes secrets before anything is kept. */
  readonly mask: (text: string) => string;
  /** The token limit for the turns given to a model, by the models in use. */
  readonly historyTokens: () => number;
  readonly summaryTokens: number;
}

const MOST_TURNS = 400;
/** The most turns of one session that are searched. */
const MOST_REWOUND_TURNS = 10_000;
/** How many rewinds can be redone, one after the other. */
const MOST_KEPT = 20;

/** The turns that `/rewind` removes from a session, and `/rewind redo` restores. */
function createRewoundTurns(store: SessionStore) {
  const kept = async (chatKey: string) => (await store.settings(chatKey)).rewound;
  return {
    async turns({ chatKey, id }: Session): Promise<readonly Turn[]> {
      return (await store.turns(chatKey, id, { after: 0, limit: MOST_REWOUND_TURNS })).turns;
    },
    /** Forgets the turns after a position, with the jobs that were swapped for it; `putBack` restores them. */
    async setAside(
      { chatKey, id: sessionId, turns }: Session,
      after: number,
      jobs: Pick<Rewound, "jobIds" | "again">,
    ): Promise<void> {
      const before = await kept(chatKey);
      // No session has this name: ids never contain the mark `~`.
      const name = `${sessionId}~${after}-${turns}-${before.length}`;
      await store.setAside(chatKey, sessionId, after, name);
      const rewound = [...before.slice(1 - MOST_KEPT), { sessionId, name, ...jobs }];
      await store.saveSettings(chatKey, { rewound });
    },
    async lastAside({ chatKey, id }: Session): Promise<Rewound | null> {
      return (await kept(chatKey)).findLast(({ sessionId }) => sessionId === id) ?? null;
    },
    async putBack({ chatKey, id }: Session, { name }: Rewound): Promise<void> {
      await store.putBack(chatKey, id, name);
      await store.saveSettings(chatKey, {
        rewound: (await kept(chatKey)).filter((one) => one.name !== name),
      });
    },
  };
}

/** Above the number of sessions that one chat begins in one day. */
const MOST_PER_DAY = 1000;

/** Opens a session in the place of `from`. If another process was faster, returns its session. */
async function openNewSession(
  deps: SessionDeps,
  chat: Chat,
  from: string | null,
  carried: string,
): Promise<Session> {
  const { store, clock, now } = deps;
  const chatKey = chatKeyOf(chat.channel, chat.chatId);
  const at = now();
  const day = clock.dayOf(at);
  for (let ordinal = 1; ordinal <= MOST_PER_DAY; ordinal++) {
    const id = sessionIdOf(day, chat.channel, chat.chatId, ordinal);
    if ((await store.find(chatKey, id)) !== null) continue;
    const next: NewSession = {
      chatKey,
      id,
      ...chat,
      openedAt: at.toISOString(),
      cut: { at: clock.nextCut(at).toISOString(), clock: clock.name },
      carried,
    };
    const opened = await store.open(next, from);
    if (opened === "opened") return { ...next, closedAt: null, summary: { text: "", upTo: 0 }, turns: 0 };
    if (opened === "taken") continue;
    const { session } = await store.current(chatKey);
    if (session !== null) return session;
  }
  throw new Error(`no session could be opened for ${chatKey}`);
}

async function resumeSession(
  deps: SessionDeps,
  session: Session,
  sessionId?: string,
): Promise<Session | null> {
  const { store, clock, now } = deps;
  const older = (await store.list(session.chatKey, MOST_PER_DAY)).filter(({ id }) => id !== session.id);
  const wanted =
    sessionId === undefined
      ? older.find(({ turns, openedAt }) => turns > 0 && openedAt <= session.openedAt)
      : older.find(({ id }) => id === sessionId || id.startsWith(`${sessionId}-`));
  if (wanted === undefined) return null;
  const cut = { at: clock.nextCut(now()).toISOString(), clock: clock.name };
  if (!(await store.reopen(session.chatKey, wanted.id, session.id, cut))) return null;
  return store.find(session.chatKey, wanted.id);
}

/** A question and its answer. */
const LAST_TURNS = 2;

/** Folds into the summary what no longer fits, down to half the budget; with `now`, all but the last exchange. Returns how many turns. */
async function compactSession(
  deps: SessionDeps,
  session: Session,
  signal: AbortSignal,
  when: "due" | "now",
): Promise<number> {
  const { store } = deps;
  const historyTokens = deps.historyTokens();
  const fresh = await store.find(session.chatKey, session.id);
  if (fresh === null) return 0;
  const { turns } = await store.turns(fresh.chatKey, fresh.id, {
    after: fresh.summary.upTo,
    limit: MOST_TURNS,
  });
  if (when === "due" && turnTokens(turns) <= historyTokens) return 0;
  const kept = when === "now" ? turns.slice(-LAST_TURNS) : newestTurns(turns, Math.floor(historyTokens / 2));
  const folded = turns.slice(0, turns.length - kept.length);
  if (folded.length === 0) return 0;
  const text = await summariseTurns(deps, fresh, fresh.summary.text, folded, signal);
  if (signal.aborted) return 0;
  await store.saveSummary(fresh.chatKey, fresh.id, { text, upTo: folded.at(-1)!.position });
  return folded.length;
}

async function summariseTurns(
  { summarise, summaryTokens, jobsOf }: SessionDeps,
  { chatKey, id: sessionId }: Session,
  previous: string,
  folded: readonly Turn[],
  signal: AbortSignal,
): Promise<string> {
  const turns = withJobFacts(folded, jobsOf(chatKey));
  return (await summarise({ chatKey, sessionId, previous, turns, limitTokens: summaryTokens, signal })).text;
}

/** Answers with the outcome of their jobs: a summary of words alone would omit the files. */
function withJobFacts(turns: readonly Turn[], jobs: Pick<JobHistory, "tell">): Turn[] {
  return turns.map((turn) => {
    const facts = turn.role === "assistant" && turn.groupId !== null ? jobs.tell(turn.groupId) : "";
    return facts === "" ? turn : { ...turn, text: turn.text === "" ? facts : `${turn.text}\n${facts}` };
  });
}

/** The turns that the session's memory sums up: its own, and those of the session that it carries on. */
async function foldedTurns(store: SessionStore, session: Session): Promise<Turn[]> {
  const { chatKey, id, carried, summary, openedAt } = session;
  const sessions = carried === "" ? [] : await store.list(chatKey, 2);
  const previous = sessions.find((one) => one.id !== id && one.openedAt <= openedAt);
  const [before, own] = await Promise.all([
    previous === undefined ? null : store.lastTurns(chatKey, previous.id, MOST_TURNS, 0),
    summary.text === ""
      ? null
      : store.turns(chatKey, id, {
          after: Math.max(0, summary.upTo - MOST_TURNS),
          limit: MOST_TURNS,
        }),
  ]);
  return [...(before?.turns ?? []), ...(own?.turns ?? []).filter(({ position }) => position <= summary.upTo)];
}

/** The cost of a turn beside its text. */
const OVERHEAD = 4;

function turnTokens(turns: readonly Pick<Turn, "text">[]): number {
  return turns.reduce((sum, { text }) => sum + estimateTokens(text) + OVERHEAD, 0);
}

/** The newest turns that fit together, in order; the newest one is always included. */
function newestTurns(turns: readonly Turn[], limitTokens: number): Turn[] {
  let left = limitTokens;
  let first = turns.length;
  while (first > 0) {
    left -= turnTokens([turns[first - 1]!]);
    if (left < 0 && first < turns.length) break;
    first -= 1;
  }
  return turns.slice(first);
}

/** `unknown`: the chat to fork from has no messages. `taken`: the new chat has messages already. */
export type ForkResult = "forked" | "unknown" | "taken";

/** Starts another chat with the memory of this one; after that, each continues alone. */
async function forkSession(deps: SessionDeps, from: Chat, to: Chat): Promise<ForkResult> {
  const { store } = deps;
  const fromKey = chatKeyOf(from.channel, from.chatId);
  const { session } = await store.current(fromKey);
  if (session === null || (session.turns === 0 && session.carried === "")) return "unknown";
  const toKey = chatKeyOf(to.channel, to.chatId);
  if ((await store.current(toKey)).session !== null) return "taken";
  const { carried, summary } = session;
  const { turns } = await store.lastTurns(fromKey, session.id, MOST_TURNS, summary.upTo);
  const memory = paragraphs([carried, summary.text]);
  const opened = await openNewSession(deps, to, null, memory);
  await store.append(
    toKey,
    opened.id,
    turns.map(({ at, role, text, agent, groupId }) => ({ at, role, text, agent, groupId })),
  );
  return "forked";
}

interface CutOverResult {
  /** The session that follows: a new one, or the old one when its note could not be saved. */
  readonly session: Session;
  readonly previousId: string;
  /** False: the note could not be saved, so the session stays. */
  readonly cut: boolean;
  /** The memory of the day; empty when there were no messages. */
  readonly note: string;
}

/** Summarises, saves the daily note, then closes the session and opens the next in one step. Each step can be repeated after a kill. */
async function cutOver(
  deps: SessionDeps,
  session: Session,
  options: { readonly carry: boolean; readonly signal: AbortSignal },
): Promise<CutOverResult> {
  const { store, now, log } = deps;
  const { chatKey, id } = session;
  const fields = { session_id: id, chat: chatKey };
  let note = "";
  try {
    const saved = await store.note(chatKey, id);
    if (saved !== null && saved.turns === session.turns) note = saved.text;
    else {
      const after = Math.max(session.summary.upTo, session.turns - MOST_TURNS);
      const { turns } = await store.turns(chatKey, id, { after, limit: MOST_TURNS });
      const previous = paragraphs([session.carried, session.summary.text]);
      note =
        turns.length === 0 ? previous : await summariseTurns(deps, session, previous, turns, options.signal);
      const savedAt = now().toISOString();
      if (session.turns > 0)
        await store.saveNote({ chatKey, sessionId: id, text: note, turns: session.turns, savedAt });
    }
  } catch (cause) {
    log.error("session", "Daily note not saved, session kept", "session.cut_over_failed", {
      ...fields,
      error: String(cause),
    });
    return { session, previousId: id, cut: false, note: "" };
  }
  const { channel, chatId } = session;
  const next = await openNewSession(deps, { channel, chatId }, id, options.carry ? note : "");
  log.info("session", "Session cut over", "session.cut_over", { ...fields, next_session_id: next.id });
  return { session: next, previousId: id, cut: true, note };
}

interface OpenedSession {
  readonly session: Session;
  /** The day's end, to be announced. */
  readonly cutOver: CutOverResult | null;
  /** Rows that could not be read and were skipped. */
  readonly damaged: number;
}

interface SessionContext {
  /** The memory from before the turns; empty if there is none. */
  readonly memory: string;
  /** The newest ones that fit, in order. */
  readonly turns: readonly Turn[];
  readonly older: readonly Turn[];
  readonly damaged: number;
}

/** A message of a megabyte is kept by its head and tail. */
const TURN_CHARS = 64 * 1024;
const MOST_LISTED_SESSIONS = 30;
const DUE_AT_ONCE = 100;
/** Sessions that are cut at once, so that one busy chat does not delay the others. */
const CUT_AT_ONCE = 4;

/** All chats' sessions. The caller holds the chat's turn, so no session is cut while its chat is busy. */
export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(deps: SessionDeps) {
  const { store, clock, now, mask } = deps;
  /** Tokens since the summary, per session whose context was read: while they fit, the turns are not read again. */
  const spokenTokens = new WeakMap<Session, number>();
  return {
    /** The open session of a chat, without cutting or opening one. Null if there is none. */
    current: async ({ channel, chatId }: Chat) => (await store.current(chatKeyOf(channel, chatId))).session,
    /** The session a message belongs to. A session whose day is over is cut first. */
    async open(chat: Chat, signal: AbortSignal): Promise<OpenedSession> {
      const chatKey = chatKeyOf(chat.channel, chat.chatId);
      const { session, damaged } = await store.current(chatKey);
      if (damaged > 0)
        deps.log.warn("session", "Session row unreadable, skipped", "session.damaged", { chat: chatKey });
      if (session === null)
        return { session: await openNewSession(deps, chat, null, ""), cutOver: null, damaged };
      const kept = await keepOrNull(deps, session);
      if (kept !== null) return { session: kept, cutOver: await findUnreportedCutOver(store, kept), damaged };
      const done = await cutOver(deps, session, { carry: true, signal });
      return { session: done.session, cutOver: done.cut ? done : null, damaged };
    },
    async append(session: Session, turns: readonly NewTurn[]): Promise<void> {
      const kept = turns.map((turn) => ({ ...turn, text: cutMiddle(mask(turn.text), TURN_CHARS) }));
      await store.append(session.chatKey, session.id, kept);
      const before = spokenTokens.get(session);
      if (before !== undefined) spokenTokens.set(session, before + turnTokens(kept));
    },
    /** The context of a session just opened for a model, within the budget of tokens. Asks no model. */
    async context(session: Session): Promise<SessionContext> {
      const { carried, summary } = session;
      const { turns, damaged } = await store.lastTurns(session.chatKey, session.id, MOST_TURNS, summary.upTo);
      const memory = paragraphs([carried, summary.text]);
      spokenTokens.set(session, turnTokens(turns));
      const newest = newestTurns(turns, deps.historyTokens());
      const unfolded = turns.slice(0, turns.length - newest.length);
      return { memory, turns: newest, older: [...(await foldedTurns(store, session)), ...unfolded], damaged };
    },
    /** Folds older turns into the running summary once they no longer fit (after each reply), or at once. Returns how many. */
    async compact(session: Session, signal: AbortSignal, when: "due" | "now" = "due"): Promise<number> {
      if (when === "due" && (spokenTokens.get(session) ?? Number.POSITIVE_INFINITY) <= deps.historyTokens())
        return 0;
      return compactSession(deps, session, signal, when);
    },
    /** `/new`: a new session, with nothing carried over. */
    startNew: (session: Session, signal: AbortSignal) => cutOver(deps, session, { carry: false, signal }),
    /** `/resume`: the session before this one, or the named one, continues; later messages move to its end. */
    resume: (session: Session, sessionId?: string) => resumeSession(deps, session, sessionId),
    /** The chat's other sessions that have messages, newest first: the number of the user's messages, and the first words. */
    async listOthers({ chatKey, id }: Session) {
      const others = (await store.list(chatKey, MOST_LISTED_SESSIONS)).filter(
        (one) => one.id !== id && one.turns > 0,
      );
      return Promise.all(
        others.map(async (session) => {
          const { turns } = await store.turns(chatKey, session.id, { after: 0, limit: MOST_TURNS });
          const spoken = turns.filter(({ role }) => role === "user");
          return { session, messages: spoken.length, firstText: spoken[0]?.text ?? "" };
        }),
      );
    },
    hasEarlier: async ({ chatKey, id, openedAt }: Session) =>
      (await store.list(chatKey, 20)).some(
        (one) => one.id !== id && one.openedAt <= openedAt && one.turns > 0,
      ),
    /** Starts another chat, which has no messages yet, with the memory of this one. */
    fork: (from: Chat, to: Chat) => forkSession(deps, from, to),
    ...createRewoundTurns(store),
    /** For a server at midnight: cuts due sessions, each while `hold` holds its chat. */
    cutDue: (hold: HoldChat, signal: AbortSignal) => cutDueSessions(deps, hold, signal),
    nextCut: () => clock.nextCut(now()),
    settings: ({ channel, chatId }: Chat) => store.settings(chatKeyOf(channel, chatId)),
    saveSettings: ({ channel, chatId }: Chat, change: Partial<ChatSettings>) =>
      store.saveSettings(chatKeyOf(channel, chatId), change),
    ...createSessionMemory(deps),
  };
}

type HoldChat = (chatKey: string, work: () => Promise<void>) => Promise<void>;

async function cutDueSessions(
  deps: SessionDeps,
  hold: HoldChat,
  signal: AbortSignal,
): Promise<CutOverResult[]> {
  const done: CutOverResult[] = [];
  const due = (await deps.store.due(deps.now(), DUE_AT_ONCE)).map(({ chatKey }) => chatKey);
  const cutNext = async (): Promise<void> => {
    for (let chatKey = due.shift(); chatKey !== undefined && !signal.aborted; chatKey = due.shift()) {
      const key = chatKey;
      await hold(key, async () => {
        const { session } = await deps.store.current(key);
        if (session === null || (await keepOrNull(deps, session)) !== null) return;
        const result = await cutOver(deps, session, { carry: true, signal });
        if (result.cut) done.push(result);
      });
    }
  };
  await Promise.all(Array.from({ length: CUT_AT_ONCE }, cutNext));
  return done;
}

/** What a chat keeps beside its turns: notes of past days, newest first, and the user's named memories. */
function createSessionMemory({ store, mask }: SessionDeps) {
  return {
    notes: ({ chatKey }: Session) => store.notes(chatKey, MOST_NOTES),
    /** Forgets a note, and the open session's content from it. False if there is no such note. */
    async forgetNote({ chatKey, id, carried }: Session, note: DailyNote): Promise<boolean> {
      if (!(await store.removeNote(chatKey, note.sessionId))) return false;
      if (carried === note.text) await store.clearSummary(chatKey, id);
      return true;
    },
    forgetSummary: ({ chatKey, id }: Session) => store.clearSummary(chatKey, id),
    memory: async ({ chatKey, id }: Session): Promise<SessionMemory> =>
      (await store.settings(chatKey)).memory[id] ?? {},
    /** A null value forgets the name. False if there are too many names, or the value is too long. */
    async keep({ chatKey, id }: Session, name: string, value: string | null): Promise<boolean> {
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

/** The first message after a cut-over announces it. */
async function findUnreportedCutOver(store: SessionStore, session: Session): Promise<CutOverResult | null> {
  if (session.turns > 0 || session.carried === "") return null;
  const [, previous] = await store.list(session.chatKey, 2);
  return { session, previousId: previous?.id ?? "", cut: true, note: session.carried };
}

const TWO_DAYS_MS = 48 * 3_600_000;

/** The session if its day is not over, else null. Its end is computed again if the time zone changed, or a wrong clock set it too late. */
async function keepOrNull(deps: SessionDeps, session: Session): Promise<Session | null> {
  const { clock, now, store } = deps;
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

export interface DayCutDeps {
  readonly sessions: Pick<Sessions, "cutDue" | "nextCut">;
  readonly queue: Pick<ChatQueue, "run">;
  readonly now: () => Date;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly onTrouble: (cause: unknown) => void;
}

/** The longest time until a resumed machine or a changed clock is noticed. */
const LONGEST_WAIT_MS = 15 * 60_000;
const SHORTEST_WAIT_MS = 1000;

/** Ends sessions with their day, each in its chat's turn; missed ends are caught up at the start. Returns a function that stops it. */
export function cutSessionsOnTime({ sessions, queue, now, setTimer, onTrouble }: DayCutDeps): () => void {
  const stopping = new AbortController();
  const timer = { cancel: () => {} };
  const { signal } = stopping;
  const tick = async () => {
    try {
      await sessions.cutDue(
        async (chatKey, work) => void (await queue.run(chatKey, work, { signal })),
        signal,
      );
    } catch (cause) {
      onTrouble(cause);
    }
    if (!signal.aborted) wait(sessions.nextCut().getTime() - now().getTime());
  };
  const wait = (ms: number) => {
    const bounded = Math.min(Math.max(ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    timer.cancel = setTimer(() => void tick(), bounded);
  };
  wait(SHORTEST_WAIT_MS);
  return () => {
    stopping.abort();
    timer.cancel();
  };
}
