import type { Kysely, RawBuilder } from "kysely";
import { BEAT_MS, DEAD_AFTER_MS } from "../../application/ports/work-queue.ts";
import type { Database } from "./schema.ts";

/** What is known of a process that has work or a turn in hand; times are the database's. */
export interface ProcessLife {
  readonly process: string;
  /** Its last beat; null when it has none. */
  readonly beatAt: number | null;
  /** When it took what is asked about. */
  readonly tookAt: number | null;
}

/**
 * The one way to judge a process dead: it is gone from this machine, or nothing was heard of it for too long, while
 * whoever judges reached the store.
 */
export function isDead(
  { process, beatAt, tookAt }: ProcessLife,
  { now, reachedSince }: { readonly now: number; readonly reachedSince: number },
  isGone: (process: string) => boolean,
): boolean {
  return Math.max(beatAt ?? 0, tookAt ?? 0, reachedSince) <= now - DEAD_AFTER_MS || isGone(process);
}

/** A break that two beats fit into; a shorter one keeps nobody silent for `DEAD_AFTER_MS`. */
export const BREAK_MS = 2 * BEAT_MS + 1_000;

/** Says that a process lives; the database's time of it. */
export async function writeBeat(
  db: Kysely<Database>,
  owner: string,
  clock: () => RawBuilder<number>,
): Promise<number> {
  const { beat_at: beatAt } = await db
    .insertInto("work_owners")
    .values({ owner, beat_at: clock() })
    .onConflict((conflict) => conflict.column("owner").doUpdateSet({ beat_at: clock() }))
    .returning("beat_at")
    .executeTakeFirstOrThrow();
  return Number(beatAt);
}
