import {
  type ChatQueueDeps,
  holdLease,
  type QueuedResult,
  type RunningWork,
  type StopReason,
} from "./hold-lease.ts";

/**
 * One chat in order, chats side by side, within this process and among all that share the store. In this process
 * the order is that of the calls; the lease keeps other processes out.
 */
export interface ChatQueue {
  /** Runs the work when its turn comes. Its signal ends with the caller's, with `/stop`, and with a lost lease. */
  run<T>(
    chatKey: string,
    work: (signal: AbortSignal) => Promise<T>,
    options: QueueOptions,
  ): Promise<QueuedResult<T>>;
  /** Aborts what runs in this chat, in whichever process; false when nothing does. What waits is not touched. */
  stop(chatKey: string): Promise<boolean>;
}

export interface QueueOptions {
  readonly signal: AbortSignal;
  /** How many messages stand before this one; told when it has to wait, and when that changes. */
  readonly onQueued?: (ahead: number) => void;
}

export function createChatQueue(parts: ChatQueueDeps): ChatQueue {
  const lines = new Map<string, ChatLine>();
  return {
    async run(chatKey, work, { signal, onQueued }) {
      if (signal.aborted) return { ran: false };
      const line = lines.get(chatKey) ?? { waiting: [], running: null };
      lines.set(chatKey, line);
      const place = { ahead: line.waiting.length + (line.running === null ? 0 : 1) };
      if (place.ahead > 0) onQueued?.(place.ahead);
      if (!(await nextTurn(line, signal, onQueued))) return { ran: false };
      try {
        return await holdLease(parts, { chatKey, work, signal, onQueued, running: line.running! });
      } finally {
        const next = line.waiting.shift();
        line.running = null;
        if (next === undefined) lines.delete(chatKey);
        else next.go();
        for (const [index, one] of line.waiting.entries()) one.onQueued?.(index + 1);
      }
    },
    async stop(chatKey) {
      const running = lines.get(chatKey)?.running;
      if (running?.begun) {
        running.controller.abort("stopped" satisfies StopReason);
        return true;
      }
      return parts.leases.requestStop(chatKey);
    },
  };
}

interface ChatLine {
  readonly waiting: { go: () => void; onQueued?: ((ahead: number) => void) | undefined }[];
  running: RunningWork | null;
}

/** Waits for this process's own line; false when the caller gave up first. */
function nextTurn(line: ChatLine, signal: AbortSignal, onQueued: QueueOptions["onQueued"]): Promise<boolean> {
  const begin = () => {
    line.running = { controller: new AbortController(), begun: false };
  };
  if (line.running === null && line.waiting.length === 0) {
    begin();
    return Promise.resolve(true);
  }
  return new Promise((resolve) => {
    const place = {
      onQueued,
      go: () => {
        signal.removeEventListener("abort", giveUp);
        begin();
        resolve(true);
      },
    };
    const giveUp = () => {
      line.waiting.splice(line.waiting.indexOf(place), 1);
      resolve(false);
    };
    line.waiting.push(place);
    signal.addEventListener("abort", giveUp, { once: true });
  });
}
