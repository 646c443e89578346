import type { Kysely, RawBuilder } from "kysely";
import { BEAT_MS, DEAD_AFTER_MS, type Work } from "../../../application/ports/work-queue.ts";
import { createReach } from "../../../domain/fleet/reach.ts";
import type { Database } from "../../store/schema.ts";
import type { Held } from "./work-engine.ts";

export interface BeatParts {
  readonly db: Kysely<Database>;
  readonly clock: () => RawBuilder<number>;
  readonly owner: string;
  readonly isGone: (owner: string) => boolean;
  /** By the names of their claims. */
  readonly inHand: Map<string, Work>;
  readonly release: (held: Held) => Promise<void>;
}

/** One claim of many that a piece of work may see. */
export const claimName = ({ id, fence }: Pick<Held, "id" | "fence">): string => `${id}:${fence}`;

/** A claim whose answer never came: this process holds it and does not know. */
const UNKNOWN_AFTER_MS = 10_000;
/** A break that two beats fit into; a shorter one keeps nobody silent for `DEAD_AFTER_MS`. */
const BREAK_MS = 2 * BEAT_MS + 1_000;

/** One row says that this process lives, however much it has in hand. */
export function createBeat(parts: BeatParts): () => Promise<readonly Work[]> {
  const { db, clock, owner, inHand, release } = parts;
  const reach = createReach(BREAK_MS);

  async function releaseDead(now: number): Promise<void> {
    const reachedSince = reach.reached(now);
    for (const [other, heardAt] of await lastHeard(db)) {
      const isSilent = Math.max(heardAt, reachedSince) <= now - DEAD_AFTER_MS;
      if (other === owner || !(isSilent || parts.isGone(other))) continue;
      for (const held of await claimsOf(db, other)) await release(held);
      // One that has spoken since is alive, though it lost what it had.
      await db.deleteFrom("work_owners").where("owner", "=", other).where("beat_at", "<=", heardAt).execute();
    }
  }

  return async () => {
    const before = [...inHand];
    const { beat_at: beatAt } = await db
      .insertInto("work_owners")
      .values({ owner, beat_at: clock() })
      .onConflict((conflict) => conflict.column("owner").doUpdateSet({ beat_at: clock() }))
      .returning("beat_at")
      .executeTakeFirstOrThrow();
    const now = Number(beatAt);
    await releaseDead(now);
    const held = await claimsOf(db, owner);
    for (const claim of held)
      if (!inHand.has(claimName(claim)) && claim.claimedAt < now - UNKNOWN_AFTER_MS) await release(claim);
    const ours = new Set(held.map(claimName));
    // What was ended since it was asked is not lost.
    const lost = before.filter(([name]) => inHand.has(name) && !ours.has(name));
    for (const [name] of lost) inHand.delete(name);
    return lost.map(([, work]) => work);
  };
}

/** When each process was last heard of: its beat, or its last claim if it never lived to a beat. */
async function lastHeard(db: Kysely<Database>): Promise<ReadonlyMap<string, number>> {
  const claims = await db
    .selectFrom("work_claims")
    .select(({ fn }) => ["owner", fn.max("claimed_at").as("at")])
    .where("owner", "is not", null)
    .groupBy("owner")
    .execute();
  const beats = await db.selectFrom("work_owners").selectAll().execute();
  return new Map([
    ...claims.map(({ owner, at }) => [owner as string, Number(at)] as const),
    ...beats.map(({ owner, beat_at: at }) => [owner, Number(at)] as const),
  ]);
}

async function claimsOf(db: Kysely<Database>, owner: string): Promise<(Held & { claimedAt: number })[]> {
  const rows = await db
    .selectFrom("work_claims")
    .select(["id", "queue", "fence", "claimed_at"])
    .where("owner", "=", owner)
    .execute();
  return rows.map(({ id, queue, fence, claimed_at: at }) => ({
    id,
    queue,
    fence: Number(fence),
    claimedAt: Number(at),
  }));
}
