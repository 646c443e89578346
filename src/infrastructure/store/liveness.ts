import { type Kysely, PostgresAdapter, type RawBuilder, sql } from "kysely";
import { BEAT_MS, DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import type { Database, StoreTransaction } from "./schema.ts";

/** Milliseconds since 1970, as an expression: the database's time, on which machines agree; of the embedded store this machine's. */
export function databaseClock(db: Kysely<Database>, now: () => Date): () => RawBuilder<number> {
  return db.getExecutor().adapter instanceof PostgresAdapter
    ? () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : () => sql<number>`${now().getTime()}`;
}

/** Facts about a process that has claimed work or a turn; times are the database's. */
export interface ProcessLife {
  readonly process: string;
  /** Its last beat; null when it has none. */
  readonly beatAt: number | null;
  /** When it took what is asked about. */
  readonly tookAt: number | null;
}

/** The one way to judge a process dead: gone from this machine, or silent for too long while the judging process reached the store. */
export function isDead(
  { process, beatAt, tookAt }: ProcessLife,
  { now, reachedSince }: { readonly now: number; readonly reachedSince: number },
  isGone: (process: string) => boolean,
): boolean {
  return Math.max(beatAt ?? 0, tookAt ?? 0, reachedSince) <= now - DEAD_AFTER_MS || isGone(process);
}

/** A break that two beats fit into; a shorter one silences no process for `DEAD_AFTER_MS`. */
export const BREAK_MS = 2 * BEAT_MS + 1_000;

/** Says that a process lives; the database's time of it. */
export async function writeBeat(
  db: Kysely<Database>,
  owner: string,
  clock: () => RawBuilder<number>,
): Promise<number> {
  const { rows } = await sql<{
    beat_at: number;
  }>`insert into work_owners (owner, beat_at) values (${owner}, ${clock()})
    on conflict (owner) do update set beat_at = excluded.beat_at returning beat_at`.execute(db);
  return Number(rows[0]?.beat_at);
}

/** The fence of writes during claimed work: whether the claim still exists. Within the transaction that asks it stays so. */
export async function claimExists(
  within: StoreTransaction,
  { id, fence }: HeldTurn,
  state = sql`owner is not null`,
): Promise<boolean> {
  const lock = within.getExecutor().adapter instanceof PostgresAdapter ? sql`for share` : sql``;
  const claim = sql`select id from work_claims where id = ${id} and fence = ${fence} and ${state} ${lock}`;
  return (await claim.execute(within)).rows.length > 0;
}

/** A claim; of those of a chat one has the turn. */
export interface HeldTurn {
  readonly id: string;
  readonly fence: number;
}

export interface TurnFenceDeps {
  readonly db: Kysely<Database>;
  /** The turns that this process took, by chat; a lost one stays until its work ends. Absent where no turns are taken. */
  readonly held?: ReadonlyMap<string, HeldTurn> | undefined;
}

/** Writes about a chat in one transaction, or nothing where the turn in which this is done is another's by now. */
export type TurnFence = (
  chatKey: string,
  write: (within: StoreTransaction) => Promise<unknown>,
) => Promise<void>;

export function createTurnFence({ db, held }: TurnFenceDeps): TurnFence {
  return (chatKey, write) =>
    db.transaction().execute(async (within) => {
      const turn = held?.get(chatKey);
      if (turn === undefined || (await claimExists(within, turn, sql`turn = 1`))) await write(within);
    });
}
