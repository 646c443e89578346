/** Messages that reach a coder while it works, within this process. */
export interface Steering {
  /** A coder begins to work in this chat. */
  open(chatKey: string): SteeringDesk;
  /** Whether a coder works in this chat. */
  isOpen(chatKey: string): boolean;
  /**
   * Lays a message on the desk of the coder that works in this chat: true when the coder took it in, false when it ended
   * before. Null where none works.
   */
  offer(chatKey: string, text: string): Promise<boolean> | null;
}

export interface SteeringDesk {
  /** What was laid there since the last time. */
  take(): readonly string[];
  close(): void;
}

interface WaitingMessage {
  readonly text: string;
  readonly answer: (taken: boolean) => void;
}

export function createSteering(): Steering {
  const desks = new Map<string, WaitingMessage[]>();
  return {
    open(chatKey) {
      const waiting: WaitingMessage[] = [];
      desks.set(chatKey, waiting);
      const clear = (taken: boolean) => {
        const all = waiting.splice(0);
        for (const { answer } of all) answer(taken);
        return all.map(({ text }) => text);
      };
      return {
        take: () => clear(true),
        close() {
          if (desks.get(chatKey) === waiting) desks.delete(chatKey);
          clear(false);
        },
      };
    },
    isOpen: (chatKey) => desks.has(chatKey),
    offer(chatKey, text) {
      const desk = desks.get(chatKey);
      return desk === undefined
        ? null
        : new Promise<boolean>((answer) => {
            desk.push({ text, answer });
          });
    },
  };
}
