import { type ChatTurns, chatKeyOf } from "../ports/chat.ts";
import type { Timers } from "../ports/platform.ts";
import type { Chat, ChatKey, MessageStore, StandingMessage, StoredMessage } from "../ports/serve.ts";
import { type Viewer, viewerIdentities, type WhoSpeaks } from "../serve/access.ts";
import type { Bus, LiveWork, LiveWorks } from "../serve/serve-events.ts";

export interface OwnChatsDeps {
  readonly chats: MessageStore["chats"];
  /** Whether only that person and PicoClaw are in it. */
  readonly isDirect: (chat: ChatKey & { readonly userId: string }) => boolean;
}

/** The one-to-one chats of a person on every channel. A group belongs to no single person. */
export type OwnChats = ReturnType<typeof createOwnChats>;

const MOST = 1_000;

export function createOwnChats({ chats, isDirect }: OwnChatsDeps) {
  const directOf = async (who: WhoSpeaks, limit: number) =>
    (await chats({ ...who, limit })).filter(({ channel, chatId }) =>
      isDirect({ channel, chatId, userId: who.userId }),
    );
  return {
    async list(viewer: Viewer, limit: number): Promise<readonly Chat[]> {
      const all = await Promise.all(viewerIdentities(viewer).map((who) => directOf(who, limit)));
      return all
        .flat()
        .sort((one, other) => other.lastAt.localeCompare(one.lastAt))
        .slice(0, limit);
    },
    /** As whom the viewer speaks in a chat of theirs; null: it is not theirs. */
    async speaker(viewer: Viewer, { channel, chatId }: ChatKey): Promise<WhoSpeaks | null> {
      for (const who of viewerIdentities(viewer).filter((one) => one.channel === channel))
        if ((await directOf(who, MOST)).some((chat) => chat.chatId === chatId)) return who;
      return null;
    },
  };
}

export interface WatchChatsDeps {
  readonly standing: (chats: readonly ChatKey[]) => Promise<readonly StandingMessage[]>;
  /** The reports of other processes on these messages, as far as jobs run for them; one query for all. */
  readonly remote: (messageIds: readonly string[]) => Promise<ReadonlyMap<string, LiveWork>>;
  readonly live: Pick<LiveWorks, "tell">;
  readonly bus: Bus;
  readonly timers: Timers;
}

interface ChatListener {
  /** A message arrived, began or was answered in another process. */
  changed(): void;
  /** The report on a message that another process answers has changed. */
  worked(messageId: string): void;
}

export type WatchChat = (chat: ChatKey, listener: ChatListener) => () => void;

interface WatchedChat {
  readonly chat: ChatKey;
  readonly listeners: Set<ChatListener>;
  /** Their state in the last round, by id; null before the first. */
  seen: ReadonlyMap<string, string> | null;
}

const WATCH_LOOK_MS = 2_000;
const MOST_KNOWN = 1_000;

/** Messages that another process answers raise no event here: chats are polled together, while a page shows one. */
export function createChatWatch(deps: WatchChatsDeps): WatchChat {
  const watched = new Map<string, WatchedChat>();
  const begunHere = new Set<string>();
  const lastSent = new Map<string, string>();
  const state = { looking: false };
  deps.bus.subscribe(({ type, ...event }) => {
    if (type !== "begun" || !("message" in event)) return;
    begunHere.add(event.message.id);
    if (begunHere.size > MOST_KNOWN) begunHere.delete(begunHere.values().next().value as string);
  });

  async function round(): Promise<void> {
    const now = await deps.standing([...watched.values()].map(({ chat }) => chat));
    const others = now.filter(({ id }) => !begunHere.has(id));
    const byChat = Map.groupBy(others, watchedChatName);
    for (const [name, one] of watched) {
      const stand = messageStates(byChat.get(name) ?? []);
      const before = one.seen;
      one.seen = stand;
      if (before !== null && hasChanged(before, stand)) for (const { changed } of one.listeners) changed();
    }
    const working = others.filter((message) => message.state === "working");
    const remote = working.length === 0 ? new Map() : await deps.remote(working.map(({ id }) => id));
    deps.live.tell(remote);
    for (const message of working) {
      const text = JSON.stringify(remote.get(message.id) ?? null);
      if (text === (lastSent.get(message.id) ?? "null")) continue;
      lastSent.set(message.id, text);
      for (const { worked } of watched.get(watchedChatName(message))?.listeners ?? []) worked(message.id);
    }
    for (const id of lastSent.keys()) if (!remote.has(id)) lastSent.delete(id);
  }

  /** Before the page asks for the chat's current state. */
  async function firstLook(one: WatchedChat): Promise<void> {
    const now = await deps.standing([one.chat]).catch(() => null);
    if (now !== null) one.seen ??= messageStates(now.filter(({ id }) => !begunHere.has(id)));
  }

  function hasChanged(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): boolean {
    if ([...now].some(([id, is]) => before.get(id) !== is)) return true;
    return [...before].some(([id, was]) => was !== "done" && !now.has(id) && !begunHere.has(id));
  }

  /** A message that cannot be checked now is checked in the next round. */
  async function look(): Promise<void> {
    if (watched.size > 0) await round().catch(() => {});
    if (watched.size === 0) {
      state.looking = false;
      lastSent.clear();
      return;
    }
    deps.timers.after(WATCH_LOOK_MS, () => void look());
  }

  return (chat, listener) => {
    const name = watchedChatName(chat);
    const one: WatchedChat = watched.get(name) ?? { chat, listeners: new Set(), seen: null };
    const isNew = !watched.has(name);
    watched.set(name, one);
    one.listeners.add(listener);
    if (!state.looking) {
      state.looking = true;
      void look();
    } else if (isNew) void firstLook(one);
    return () => {
      one.listeners.delete(listener);
      if (one.listeners.size === 0 && watched.get(name) === one) watched.delete(name);
    };
  };
}

function messageStates(messages: readonly StandingMessage[]): ReadonlyMap<string, string> {
  return new Map(messages.map(({ id, state }) => [id, state]));
}

const watchedChatName = ({ channel, chatId }: ChatKey): string => `${channel}:${chatId}`;

export interface WaitForAnswerDeps {
  readonly message: (id: string) => Promise<Pick<StoredMessage, "state"> | null>;
  readonly bus: Bus;
  readonly timers: Timers;
}

export type WaitForAnswer = (messageId: string, limitMs: number) => Promise<void>;

const ANSWER_LOOK_MS = 1_000;

/** Answers of this process are received at once; answers of another one are found in the store. */
export function createWaitForAnswer({ message, bus, timers }: WaitForAnswerDeps): WaitForAnswer {
  return (messageId, limitMs) =>
    new Promise((resolve) => {
      const state = { ended: false, cancelLook: () => {} };
      const end = () => {
        state.ended = true;
        unsubscribe();
        cancelLimit();
        state.cancelLook();
        resolve();
      };
      /** A store that is away now may be back for the next look. */
      const look = async () => {
        const found = await message(messageId).catch(() => null);
        if (state.ended) return;
        if (found?.state === "done") end();
        else state.cancelLook = timers.after(ANSWER_LOOK_MS, () => void look());
      };
      const cancelLimit = timers.after(limitMs, end);
      const unsubscribe = bus.subscribe((event) => {
        if (event.type === "answered" && event.message.id === messageId) end();
      });
      void look();
    });
}

export interface StopMessageDeps {
  /** Ends the answering of a message of this process; false when it is not being answered here. */
  readonly cancel: (messageId: string) => boolean;
  readonly turns: Pick<ChatTurns, "requestStop">;
}

/** In any process, which rolls back its work within a second. False if no process answers it. */
export async function stopMessage(
  { cancel, turns }: StopMessageDeps,
  { id, state, channel, chatId }: StoredMessage,
): Promise<boolean> {
  if (cancel(id)) return true;
  return state === "working" && turns.requestStop(chatKeyOf(channel, chatId));
}

/** Every letter that is typed after `@` asks again. */
const LISTED_MS = 10_000;
const MOST_FILES = 20_000;

export function createFileNames(
  list: (limit: number) => readonly string[],
  now: () => Date,
): () => readonly string[] {
  const kept: { names?: readonly string[]; until: number } = { until: 0 };
  return () => {
    const at = now().getTime();
    if (kept.names === undefined || at >= kept.until) {
      kept.names = list(MOST_FILES);
      kept.until = at + LISTED_MS;
    }
    return kept.names;
  };
}
