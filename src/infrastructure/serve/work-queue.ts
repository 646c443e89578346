import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Timers } from "../../application/ports/timers.ts";
import type {
  ClaimedWork,
  ClaimRequest,
  NewWork,
  Work,
  WorkQueue,
  WorkSource,
} from "../../application/ports/work-queue.ts";
import { databaseClock } from "../store/database-clock.ts";
import type { Database } from "../store/schema.ts";
import { claimName, createBeat } from "./beat.ts";
import { createDeadWork, noteDead } from "./dead-work.ts";
import type { FetchedWork, HeldClaim, StoreTransaction, WorkEngine } from "./work-engine.ts";

export interface WorkQueueDeps {
  readonly db: Kysely<Database>;
  readonly engine: WorkEngine;
  /** This process, as claims name it. */
  readonly owner: string;
  /** Whether a process of this machine is surely gone. */
  readonly isGone: (owner: string) => boolean;
  readonly timers: Timers;
  readonly newId: () => string;
}

const POLL_MS = 1_000;

/** Claims, fences, attempts and the dead, the same over both engines; every change is one transaction. */
export function createWorkQueue(parts: WorkQueueDeps): WorkQueue<StoreTransaction> {
  const { db, engine, owner } = parts;
  /** Claimed by this process and not ended yet, by claim. */
  const inHand = new Map<string, Work>();
  const signals = createSignals(parts);
  const clock = databaseClock(db, parts.timers.now);

  async function insert(within: StoreTransaction, work: readonly NewWork[]): Promise<void> {
    if (work.length === 0) return;
    await engine.insert(within, work);
    for (const queue of new Set(work.map((one) => one.queue))) signals.soon(queue);
  }

  async function end(
    work: HeldClaim,
    act: (within: StoreTransaction) => Promise<boolean>,
    wake = work.queue,
  ): Promise<"done" | "lost"> {
    const done = await db.transaction().execute(act);
    inHand.delete(claimName(work));
    if (done) for (const queue of new Set([work.queue, wake])) signals.now(queue);
    return done ? "done" : "lost";
  }

  async function claimOne<T>(
    request: ClaimRequest,
    read: (work: Work, within: StoreTransaction) => Promise<T>,
    added: readonly NewWork[] = [],
  ): Promise<ClaimedWork<T> | null> {
    const nothing = Symbol("nothing to claim");
    try {
      const claimed = await db.transaction().execute(async (within) => {
        if (added.length > 0) await engine.insert(within, added);
        const fetched = await engine.fetch(within, request);
        // What was added or marked for this claim goes with the transaction.
        if (fetched === null) throw nothing;
        const work = await noteClaim(within, fetched, { owner, at: clock() });
        return { work, read: await read(work, within) };
      });
      inHand.set(claimName(claimed.work), claimed.work);
      return claimed;
    } catch (error) {
      if (error === nothing) return null;
      throw error;
    }
  }

  return {
    ...createDeadWork({ db, newId: parts.newId, insert }),
    add: (work, within) =>
      within === undefined ? db.transaction().execute((own) => insert(own, work)) : insert(within, work),
    async claim(request, read) {
      if (!(await engine.mayHave(db, request))) return null;
      return claimOne(request, read);
    },
    begin: (work, read) => claimOne({ queue: work.queue, id: work.id }, read, [work]),
    finish: (work, { add = [], write, dead, wake }) =>
      end(
        work,
        async (within) => {
          if (!(await engine.complete(within, work))) return false;
          await within.deleteFrom("work_claims").where("id", "=", work.id).execute();
          if (dead !== undefined) await noteDead(within, work, dead, clock());
          await write?.(within);
          await insert(within, add);
          if (wake !== undefined) await engine.notify(within, wake);
          return true;
        },
        wake,
      ),
    handBack: (work, { begun, write }) =>
      end(work, async (within) => {
        if (!(await giveBack(engine, within, work, begun ? 0 : 1))) return false;
        await write?.(within);
        await engine.notify(within, work.queue);
        return true;
      }),
    beat: createBeat({
      ...parts,
      clock,
      inHand,
      release: (held) => release(parts, held).then(() => signals.now(held.queue)),
    }),
    onWork: signals.listen,
    async close() {
      signals.close();
      try {
        await db.deleteFrom("work_owners").where("owner", "=", owner).execute();
      } finally {
        await engine.close();
      }
    },
  };
}

/** The attempts of a piece of work are counted beside the engine, which cannot take one back. */
async function noteClaim(
  within: StoreTransaction,
  { id, queue, key, group, ref, light, fence }: FetchedWork,
  { owner, at }: { readonly owner: string; readonly at: RawBuilder<number> },
): Promise<Work> {
  const row = { id, queue, work_key: key, owner_group: group, ref, light: light ? 1 : 0 };
  const { attempts } = await within
    .insertInto("work_claims")
    .values({ ...row, attempts: 1, fence, owner, claimed_at: at })
    .onConflict((conflict) =>
      conflict
        .column("id")
        .doUpdateSet({ fence, owner, claimed_at: at, attempts: sql`work_claims.attempts + 1` }),
    )
    .returning("attempts")
    .executeTakeFirstOrThrow();
  return { id, queue, key, group, ref, light, fence, attempt: Number(attempts) };
}

async function giveBack(
  engine: WorkEngine,
  within: StoreTransaction,
  held: HeldClaim,
  uncounted: 0 | 1,
): Promise<boolean> {
  if (!(await engine.release(within, held))) return false;
  await within
    .updateTable("work_claims")
    .set((is) => ({ owner: null, attempts: is("attempts", "-", uncounted) }))
    .where("id", "=", held.id)
    .execute();
  return true;
}

/** What a dead process had: its attempt counts, since nobody knows how far it came. */
async function release({ db, engine }: WorkQueueDeps, held: HeldClaim): Promise<void> {
  await db.transaction().execute(async (within) => {
    if (await giveBack(engine, within, held, 0)) await engine.notify(within, held.queue);
  });
}

function createSignals({ db, engine, timers }: WorkQueueDeps) {
  const listeners = new Map<() => void, WorkSource>();
  const now = (queue?: string) => {
    for (const [listener, source] of listeners) if (mayBeWorkOfSource(source, queue)) listener();
  };
  const state = { closed: false, stop: () => {} };
  /** Whoever claims finds out about a store that fails, and says so. */
  const lookOut = async () => {
    const kinds = [...new Set([...listeners.values()].flatMap(({ kind }) => kind ?? []))];
    if (await engine.waits(db, kinds).catch(() => true)) now();
  };
  const poll = () => {
    if (state.closed) return;
    state.stop = timers.after(POLL_MS, () => void lookOut().finally(poll));
  };
  poll();
  const unlisten = engine.listen(now);
  return {
    now,
    /** The claim that follows waits for the transaction that is being written, where there is one connection. */
    soon: (queue: string) => queueMicrotask(() => now(queue)),
    listen(listener: () => void, of: WorkSource = {}) {
      listeners.set(listener, of);
      return () => void listeners.delete(listener);
    },
    close() {
      state.closed = true;
      state.stop();
      unlisten();
    },
  };
}

/** What is not known to be of another queue may be of this one. */
function mayBeWorkOfSource({ queue, kind }: WorkSource, named: string | undefined): boolean {
  if (named === undefined) return true;
  if (kind !== undefined) return named.startsWith(`${kind}.`);
  return queue === undefined || queue === named;
}
