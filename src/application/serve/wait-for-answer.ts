import type { StoredMessage } from "../ports/channel.ts";
import type { Timers } from "../ports/timers.ts";
import type { Bus } from "./bus.ts";

export interface WaitForAnswerDeps {
  readonly message: (id: string) => Promise<Pick<StoredMessage, "state"> | null>;
  readonly bus: Bus;
  readonly timers: Timers;
}

/** Resolves when the message is answered, or the time is over. */
export type WaitForAnswer = (messageId: string, limitMs: number) => Promise<void>;

const ANSWER_LOOK_MS = 1_000;

/** What this process answers is heard at once; what another one answers is found in the store. */
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
