import type { Kysely, RawBuilder } from "kysely";
import { BEAT_MS } from "../../application/ports/work-queue.ts";
import { writeBeat } from "../store/process-life.ts";
import type { Database } from "../store/schema.ts";

/** The beat of a process that has no queue, while it holds a turn or waits for one. */
export interface TurnBeat {
  begin(name: string): void;
  /** Writes at most every `BEAT_MS`; a turn is young enough by itself before. */
  beat(): Promise<void>;
  /** The row goes with the last of them. */
  end(name: string): Promise<void>;
}

/** Of processes that were killed; servers forget them sooner. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

export function createTurnBeat({
  db,
  process,
  clock,
}: {
  readonly db: Kysely<Database>;
  readonly process: string;
  readonly clock: () => RawBuilder<number>;
}): TurnBeat {
  const inHand = new Set<string>();
  const state = { at: 0, written: false };
  return {
    begin(name) {
      if (inHand.size === 0) state.at = performance.now();
      inHand.add(name);
    },
    async beat() {
      if (performance.now() - state.at < BEAT_MS) return;
      state.at = performance.now();
      state.written = true;
      await writeBeat(db, process, clock);
    },
    async end(name) {
      inHand.delete(name);
      if (inHand.size > 0 || !state.written) return;
      state.written = false;
      await db
        .deleteFrom("work_owners")
        .where(({ eb, or }) =>
          or([eb("owner", "=", process), eb("beat_at", "<", eb(clock(), "-", FORGOTTEN_AFTER_MS))]),
        )
        .execute();
    },
  };
}
