import type { AccessStore } from "../ports/access.ts";
import type { MessageStore } from "../ports/message-store.ts";

const ROUND_MS = 6 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

export interface PruneParts {
  readonly store: Pick<MessageStore, "prune">;
  readonly access: Pick<AccessStore, "prune">;
  /** 0 keeps everything. */
  readonly keepDays: () => number;
  readonly now: () => Date;
  readonly onTrouble: (error: unknown) => void;
}

/** Old messages and worn-out links go, some times a day. The answer stops it. */
export function startPruning({ store, access, keepDays, now, onTrouble }: PruneParts): () => void {
  const round = setInterval(() => {
    const days = keepDays();
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    void (days > 0 ? store.prune(before) : Promise.resolve()).catch(onTrouble);
    void access.prune(now().toISOString()).catch(onTrouble);
  }, ROUND_MS);
  round.unref();
  return () => clearInterval(round);
}
