import type { StoredMessage } from "../ports/channel.ts";
import type { ChatEvent, Reply } from "../ports/conversation.ts";

/** What happens while serving, for whoever watches. */
export type ServeEvent =
  | { readonly type: "received"; readonly message: StoredMessage }
  /** It was claimed and is being answered; it ends with `answered`, or `left` to be begun again or by another. */
  | { readonly type: "begun" | "left"; readonly message: StoredMessage }
  | { readonly type: "chat"; readonly message: StoredMessage; readonly event: ChatEvent }
  | { readonly type: "answered"; readonly message: StoredMessage; readonly reply: Reply; readonly ms: number }
  | {
      readonly type: "delivered";
      readonly channel: string;
      readonly ok: boolean;
      /** The message that was answered; absent when nobody asked. */
      readonly messageId?: string;
      readonly attempt: number;
      readonly ms: number;
    }
  | { readonly type: "job"; readonly jobId: string; readonly output?: string };

export interface Bus {
  publish(event: ServeEvent): void;
  /** Returns how to stop listening. A listener that throws is dropped. */
  subscribe(listener: (event: ServeEvent) => void): () => void;
}

export function createBus(): Bus {
  const listeners = new Set<(event: ServeEvent) => void>();
  return {
    publish(event) {
      for (const listener of listeners)
        try {
          listener(event);
        } catch {
          listeners.delete(listener);
        }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
