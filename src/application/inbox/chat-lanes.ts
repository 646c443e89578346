import type { ChatKey } from "../ports/message-store.ts";

export interface Lanes {
  /** There is work in this chat. Said while it is worked on, it is looked at once more. */
  wake(chat: ChatKey): void;
  /** Whether this chat is being worked on. */
  isRunning(chat: ChatKey): boolean;
  /** Lets nothing new begin. */
  close(): void;
  /** When nothing runs any more. */
  idle(): Promise<void>;
  readonly running: number;
}

/** One chat in order, many at once: `work` runs for one chat never twice at a time, and for at most `limit` chats. */
export function createLanes(limit: number, work: (chat: ChatKey) => Promise<void>): Lanes {
  const queue = new Map<string, ChatKey>();
  const running = new Map<string, Promise<void>>();
  const again = new Set<string>();
  const state = { closed: false };

  function pump(): void {
    for (const [key, chat] of queue) {
      if (state.closed || running.size >= limit) return;
      queue.delete(key);
      running.set(key, run(key, chat));
    }
  }

  async function run(key: string, chat: ChatKey): Promise<void> {
    // A step away from the caller, so that `running` knows of this run before it can end.
    await Promise.resolve();
    try {
      await work(chat);
    } finally {
      running.delete(key);
      if (again.delete(key) && !state.closed) queue.set(key, chat);
      pump();
    }
  }

  const keyOf = ({ channel, chatId }: ChatKey) => JSON.stringify([channel, chatId]);

  return {
    isRunning: (chat) => running.has(keyOf(chat)),
    wake(chat) {
      if (state.closed) return;
      const key = keyOf(chat);
      if (running.has(key)) again.add(key);
      else {
        queue.set(key, chat);
        pump();
      }
    },
    close() {
      state.closed = true;
      queue.clear();
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running.values());
    },
    get running() {
      return running.size;
    },
  };
}
