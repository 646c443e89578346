import type { Conversation } from "../../application/ports/chat.ts";

/** Text that the user typed while something else ran. */
export interface QueuedWords {
  readonly text: string;
  /** Whether the coder gets it in its next round, or it is a message of its own afterwards. */
  mode: "joins" | "waits";
}

export function createWordQueue(taken: (text: string) => void) {
  let words: (QueuedWords & { offered: AbortController | null })[] = [];
  return {
    add(text: string, mode: QueuedWords["mode"]): void {
      words.push({ text, mode, offered: null });
    },
    list: (): readonly QueuedWords[] => words,
    /** Lays what joins on the desk of a coder that works; until the coder has it, it can be taken back. */
    offer({ steer }: Pick<Conversation, "steer">, chatId: string): void {
      for (const one of words) {
        if (one.mode !== "joins" || one.offered !== null) continue;
        const abort = new AbortController();
        const answer = steer({ channel: "cli", chatId, text: one.text }, abort.signal);
        if (answer === null) continue;
        one.offered = abort;
        void answer.then((isTaken) => {
          one.offered = null;
          if (!isTaken) return;
          words = words.filter((other) => other !== one);
          taken(one.text);
        });
      }
    },
    /** The last of them, for the line. */
    takeBack(): string | undefined {
      const one = words.pop();
      one?.offered?.abort();
      return one?.text;
    },
    /** The first of them, to be sent. */
    next: (): string | undefined => words.shift()?.text,
    /** The work has ended: what no round took is a message of its own. */
    ended(): void {
      for (const one of words) {
        one.offered?.abort();
        one.mode = "waits";
      }
    },
    /** Removes and returns all of them. */
    clear(): readonly string[] {
      const all = words.map(({ text }) => text);
      words = [];
      return all;
    },
  };
}
