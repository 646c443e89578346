import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Work } from "../../application/ports/work-queue.ts";
import { createReach } from "../../domain/store/liveness.ts";
import { BREAK_MS, isDead, type ProcessLife, writeBeat } from "../store/process-life.ts";
import type { Database } from "../store/schema.ts";
import type { HeldClaim } from "./work-engine.ts";

export interface BeatDeps {
  readonly db: Kysely<Database>;
  readonly clock: () => RawBuilder<number>;
  readonly owner: string;
  readonly isGone: (owner: string) => boolean;
  /** By the names of their claims. */
  readonly inHand: Map<string, Work>;
  readonly release: (held: HeldClaim) => Promise<void>;
}

/** One claim of many that a piece of work may see. */
export const claimName = ({ id, fence }: Pick<HeldClaim, "id" | "fence">): string => `${id}:${fence}`;

/** A claim whose answer never came: this process holds it and does not know. */
const UNKNOWN_AFTER_MS = 10_000;

/** One row says that this process lives, however much it has in hand. */
export function createBeat(parts: BeatDeps): () => Promise<readonly Work[]> {
  const { db, clock, owner, inHand, release } = parts;
  const reach = createReach(BREAK_MS);

  async function releaseDead(now: number): Promise<void> {
    const judged = { now, reachedSince: reach.reached(now) };
    for (const one of await readProcessLives(db)) {
      const { process: other, beatAt } = one;
      if (other === owner || !isDead(one, judged, parts.isGone)) continue;
      // What it wrote about a chat ends before another begins its work.
      for (const table of ["chat_leases", "chat_tickets"] as const)
        await db.deleteFrom(table).where("process", "=", other).execute();
      for (const held of await claimsOf(db, other)) await release(held);
      // One that has spoken since is alive, though it lost what it had.
      if (beatAt !== null)
        await db
          .deleteFrom("work_owners")
          .where("owner", "=", other)
          .where("beat_at", "<=", beatAt)
          .execute();
    }
  }

  return async () => {
    const before = [...inHand];
    const now = await writeBeat(db, owner, clock);
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

/** Processes with a beat, a claim, a turn of a chat or a place in its line. */
async function readProcessLives(db: Kysely<Database>): Promise<readonly ProcessLife[]> {
  const { rows } = await sql<{ process: string; at: number }>`
    select owner as process, max(claimed_at) as at from work_claims where owner is not null group by owner
    union all select process, max(since) from chat_leases group by process
    union all select process, max(since) from chat_tickets group by process`.execute(db);
  const beats = await db.selectFrom("work_owners").selectAll().execute();
  const beatsOf = new Map(beats.map(({ owner, beat_at: at }) => [owner, Number(at)]));
  const tookOf = new Map<string, number>();
  for (const { process, at } of rows) tookOf.set(process, Math.max(tookOf.get(process) ?? 0, Number(at)));
  return [...new Set([...tookOf.keys(), ...beatsOf.keys()])].map((process) => ({
    process,
    beatAt: beatsOf.get(process) ?? null,
    tookAt: tookOf.get(process) ?? null,
  }));
}

async function claimsOf(db: Kysely<Database>, owner: string): Promise<(HeldClaim & { claimedAt: number })[]> {
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
