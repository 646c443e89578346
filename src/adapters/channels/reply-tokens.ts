import type { Timers } from "../../application/ports/timers.ts";

/** A token is good for about a minute; what is left of it after this is not relied on. */
export const TOKEN_MS = 50_000;
/** When a token is spent on an interim message, if nothing else came. */
const INTERIM_MS = 40_000;

export interface ReplyTokens {
  /** A token came with an event. `onAge` is called before it runs out, unless it was taken. */
  keep(chatId: string, token: string, at: number, onAge: (token: string) => void): void;
  /** The newest token of a chat that is still good; it is taken out. */
  take(chatId: string): string | null;
  close(): void;
}

/** Tokens in memory only: a restart loses them, and a reply is then pushed. */
export function createReplyTokens(timers: Timers): ReplyTokens {
  const tokens = new Map<
    string,
    { readonly token: string; readonly at: number; readonly cancel: () => void }
  >();
  const drop = (chatId: string) => {
    tokens.get(chatId)?.cancel();
    tokens.delete(chatId);
  };
  return {
    keep(chatId, token, told, onAge) {
      drop(chatId);
      // A clock ahead of ours makes no token younger than new.
      const at = Math.min(told, timers.now().getTime());
      const left = at + INTERIM_MS - timers.now().getTime();
      if (left <= 0) return;
      const cancel = timers.after(left, () => {
        if (tokens.get(chatId)?.token !== token) return;
        tokens.delete(chatId);
        onAge(token);
      });
      tokens.set(chatId, { token, at, cancel });
    },
    take(chatId) {
      const found = tokens.get(chatId);
      drop(chatId);
      return found !== undefined && timers.now().getTime() - found.at < TOKEN_MS ? found.token : null;
    },
    close() {
      for (const chatId of [...tokens.keys()]) drop(chatId);
    },
  };
}
