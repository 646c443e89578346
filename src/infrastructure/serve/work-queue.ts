import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Timers } from "../../application/ports/platform.ts";
import type {
  ClaimedWork,
  ClaimRequest,
  NewWork,
  Work,
  WorkQueue,
  WorkSource,
} from "../../application/ports/serve.ts";
import { createWorkKeeper } from "../../application/serve/take-work.ts";
import { createReach } from "../../domain/store/store-trouble.ts";
import { createSortedIds } from "../platform/hash.ts";
import { BREAK_MS, databaseClock, isDead, type ProcessLife, writeBeat } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  insertionOf,
  insertRows,
  type StoreTransaction,
  selectRows,
  updateRows,
  type WorkRow,
} from "../store/schema.ts";
import { endOwnWork, OWN_WORK } from "./chat-turns.ts";
import type { FetchedWork, HeldClaim, WorkEngine } from "./work-engine.ts";

/**
 * The queue in the embedded store. The oldest row of each key is marked as its head, and only heads are looked at: a
 * claim costs the same with ten waiting and with ten thousand. Writers of SQLite take turns, so that a transaction
 * sees no other.
 */
export function createSqliteEngine(): WorkEngine {
  return {
    mayHave: async (db, request) => (await selectNextWork(request).execute(db)).rows.length > 0,
    waitsIn: async (db, queue) => (await selectNextWork({ queue }).execute(db)).rows.length > 0,
    waits: async () => true,
    async insert(within, work) {
      for (const { id, queue, key, group, ref, light } of work)
        await sql`insert into work (id, queue, work_key, owner_group, ref, light, claimed, fence, head)
          select ${id}, ${queue}, ${key}, ${group}, ${ref}, ${light ? 1 : 0}, 0, 0,
            not exists (select 1 from work where queue = ${queue} and work_key = ${key})`.execute(within);
    },
    async fetch(within, request) {
      const { rows } = await sql<WorkRow>`update work set claimed = 1, fence = fence + 1
        where seq = (${selectNextWork(request)}) returning *`.execute(within);
      return rows[0] === undefined ? null : { ...toWork(rows[0]), fence: Number(rows[0].fence) };
    },
    async complete(within, { id, fence }) {
      const ended = sql<WorkRow>`delete from work where id = ${id} and fence = ${fence} and claimed = 1 returning *`;
      const [row] = (await ended.execute(within)).rows;
      if (row === undefined) return false;
      await sql`update work set head = 1 where seq =
        (select min(seq) from work where queue = ${row.queue} and work_key = ${row.work_key})`.execute(
        within,
      );
      return true;
    },
    async release(within, { id, fence }) {
      return (await updateRows(within, "work", { id, fence, claimed: 1 }, { claimed: 0 })) > 0;
    },
    listen: () => () => {},
    notify: async () => {},
    close: async () => {},
  };
}

function selectNextWork({ queue, lightOnly = false, notGroups = [], id }: ClaimRequest) {
  const is = [sql`queue = ${queue} and head = 1 and claimed = 0`];
  if (id !== undefined) is.push(sql`id = ${id}`);
  if (lightOnly) is.push(sql`light = 1`);
  if (notGroups.length > 0) is.push(sql`owner_group not in (${sql.join(notGroups)})`);
  return sql`select seq from work where ${sql.join(is, sql` and `)} order by light desc, seq limit 1`;
}

type StoredWork = Pick<WorkRow, "id" | "queue" | "work_key" | "owner_group" | "ref" | "light">;

function toWork({ id, queue, work_key: key, owner_group: group, ref, light }: StoredWork): NewWork {
  return { id, queue, key, group, ref, light: Number(light) === 1 };
}

function toWorkRow({ id, queue, key, group, ref, light }: NewWork): StoredWork {
  return { id, queue, work_key: key, owner_group: group, ref, light: light ? 1 : 0 };
}

interface BeatDeps {
  readonly db: Kysely<Database>;
  readonly clock: () => RawBuilder<number>;
  readonly owner: string;
  readonly isGone: (owner: string) => boolean;
  readonly inHand: Map<string, Work>;
  readonly release: (held: HeldClaim) => Promise<void>;
}

/** One claim of many that a piece of work may see. */
const claimName = ({ id, fence }: Pick<HeldClaim, "id" | "fence">): string => `${id}:${fence}`;

/** A claim whose answer was lost: this process holds it and does not know that. */
const UNKNOWN_AFTER_MS = 10_000;

/** One row states that this process is alive, however much it has claimed. */
function createBeat(deps: BeatDeps): () => Promise<readonly Work[]> {
  const { db, clock, owner, inHand, release } = deps;
  const reach = createReach(BREAK_MS);

  async function releaseDead(now: number): Promise<void> {
    const judged = { now, reachedSince: reach.reached(now) };
    for (const one of await readProcessLives(db)) {
      const { process: other, beatAt } = one;
      if (other === owner || !isDead(one, judged, deps.isGone)) continue;
      // Its records about chats end before another process begins its work.
      await endOwnWork(db, other);
      for (const held of await claimsOf(db, other)) await release(held);
      // One that has spoken since is alive, though it lost what it had.
      if (beatAt !== null)
        await deleteRows(db, "work_owners", { owner: other }, sql`and beat_at <= ${beatAt}`);
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
    // Work that ended since the question was asked is not lost.
    const lost = before.filter(([name]) => inHand.has(name) && !ours.has(name));
    for (const [name] of lost) inHand.delete(name);
    return lost.map(([, work]) => work);
  };
}

/** Processes with a beat or a claim. */
async function readProcessLives(db: Kysely<Database>): Promise<readonly ProcessLife[]> {
  const { rows } = await sql<{ process: string; at: number }>`
    select owner as process, max(claimed_at) as at from work_claims where owner is not null group by owner`.execute(
    db,
  );
  const beats = await selectRows(db, "work_owners", {});
  const beatsOf = new Map(beats.map(({ owner, beat_at: at }) => [owner, Number(at)]));
  const tookOf = new Map(rows.map(({ process, at }) => [process, Number(at)]));
  return [...new Set([...tookOf.keys(), ...beatsOf.keys()])].map((process) => ({
    process,
    beatAt: beatsOf.get(process) ?? null,
    tookAt: tookOf.get(process) ?? null,
  }));
}

/** Claims of work that is in the engine. */
async function claimsOf(db: Kysely<Database>, owner: string): Promise<(HeldClaim & { claimedAt: number })[]> {
  const rows = await selectRows(db, "work_claims", { owner }, sql`and ref <> ${OWN_WORK}`);
  return rows.map(({ id, queue, fence, claimed_at: at }) => ({
    id,
    queue,
    fence: Number(fence),
    claimedAt: Number(at),
  }));
}

async function noteDead(
  within: StoreTransaction,
  work: Work,
  reason: string,
  at: RawBuilder<number>,
): Promise<void> {
  await insertRows(within, "dead_work", [{ ...toWorkRow(work), attempts: work.attempt, reason, at }]);
}

function createDeadWork(
  { db, newId }: WorkQueueDeps,
  insert: (within: StoreTransaction, work: readonly NewWork[]) => Promise<void>,
): Pick<WorkQueue<StoreTransaction>, "dead" | "retryDead" | "discardDead"> {
  return {
    async dead(limit) {
      const rows = await selectRows(db, "dead_work", {}, sql`order by at desc limit ${limit}`);
      return rows.map((row) => ({
        ...toWork(row),
        attempt: Number(row.attempts),
        reason: row.reason,
        at: new Date(Number(row.at)),
      }));
    },
    retryDead: (id) =>
      db.transaction().execute(async (within) => {
        const [row] = await selectRows(within, "dead_work", { id });
        if (row === undefined || (await deleteRows(within, "dead_work", { id })) === 0) return false;
        await insert(within, [{ ...toWork(row), id: newId() }]);
        return true;
      }),
    discardDead: async (id) => (await deleteRows(db, "dead_work", { id })) > 0,
  };
}

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
export function createWorkQueue(deps: WorkQueueDeps): WorkQueue<StoreTransaction> {
  const { db, engine, owner } = deps;
  const inHand = new Map<string, Work>();
  const signals = createSignals(deps);
  const clock = databaseClock(db, deps.timers.now);

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
        // Rows added or marked for this claim are undone with the transaction.
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
    ...createDeadWork(deps, insert),
    add: (work, within) =>
      within === undefined ? db.transaction().execute((own) => insert(own, work)) : insert(within, work),
    async claim(request, read) {
      if (!(await engine.mayHave(db, request))) return null;
      return claimOne(request, read);
    },
    waitsIn: (queue) => engine.waitsIn(db, queue),
    begin: (work, read) => claimOne({ queue: work.queue, id: work.id }, read, [work]),
    finish: (work, { add = [], write, dead, wake }) =>
      end(
        work,
        async (within) => {
          if (!(await engine.complete(within, work))) return false;
          await deleteRows(within, "work_claims", { id: work.id });
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
      ...deps,
      clock,
      inHand,
      release: (held) => release(deps, held).then(() => signals.now(held.queue)),
    }),
    onWork: signals.listen,
    async close() {
      signals.close();
      try {
        await deleteRows(db, "work_owners", { owner });
      } finally {
        await engine.close();
      }
    },
  };
}

/** The attempts of a piece of work are counted beside the engine, which cannot take one back. */
async function noteClaim(
  within: StoreTransaction,
  work: FetchedWork,
  { owner, at }: { readonly owner: string; readonly at: RawBuilder<number> },
): Promise<Work> {
  const claimed = { attempts: 1, fence: work.fence, owner, claimed_at: at, turn: 0, stop: 0 };
  const again = sql`on conflict (id) do update set fence = excluded.fence, owner = excluded.owner,
      claimed_at = excluded.claimed_at, turn = 0, stop = 0, attempts = work_claims.attempts + 1
    returning attempts`;
  const { rows } = await insertionOf("work_claims", [{ ...toWorkRow(work), ...claimed }], again).execute(
    within,
  );
  return { ...work, attempt: Number(rows[0]?.attempts) };
}

async function giveBack(
  engine: WorkEngine,
  within: StoreTransaction,
  held: HeldClaim,
  uncounted: 0 | 1,
): Promise<boolean> {
  if (!(await engine.release(within, held))) return false;
  const free = { owner: null, turn: 0, attempts: sql`attempts - ${uncounted}` };
  await updateRows(within, "work_claims", { id: held.id }, free);
  return true;
}

/** The claim of a dead process: its attempt counts, since its progress is unknown. */
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
  /** The claiming caller notices a failing store, and reports it. */
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

/** Work that is not known to be of another queue may be of this one. */
function mayBeWorkOfSource({ queue, kind }: WorkSource, named: string | undefined): boolean {
  if (named === undefined) return true;
  if (kind !== undefined) return named.startsWith(`${kind}.`);
  return queue === undefined || queue === named;
}

export interface OpenQueueDeps extends Pick<WorkQueueDeps, "db" | "owner" | "isGone" | "timers"> {
  /** As `database_url`, its reference resolved; the embedded store where it is not set. */
  readonly databaseUrl: string | undefined;
  readonly onTrouble: (error: unknown) => void;
}

export type OpenedQueue = Awaited<ReturnType<typeof openWorkQueue>>;

/** Creates the queue's own schema in Postgres, for an account that may; a server then needs no right to create it. */
export async function installQueue(databaseUrl: string): Promise<void> {
  const { createPgBossEngine } = await import("./pg-boss-engine.ts");
  const engine = await createPgBossEngine(databaseUrl, () => {});
  await engine.close();
}

/** The code for Postgres is loaded only there. */
export async function openWorkQueue(deps: OpenQueueDeps) {
  const { databaseUrl, timers, onTrouble } = deps;
  const engine =
    databaseUrl === undefined
      ? createSqliteEngine()
      : await (await import("./pg-boss-engine.ts")).createPgBossEngine(databaseUrl, onTrouble);
  const newWorkId = createSortedIds(timers.now);
  return { queue: createWorkQueue({ ...deps, engine, newId: newWorkId }), newWorkId };
}

/** The same for a process that works on one task: it claims, and says that it lives. */
export async function openKeptQueue(deps: OpenQueueDeps) {
  const queue = await openWorkQueue(deps);
  const keeper = createWorkKeeper({ ...deps, queue: queue.queue });
  await keeper.start();
  return {
    queue,
    keeper,
    async close() {
      keeper.stop();
      await queue.queue.close().catch(deps.onTrouble);
    },
  };
}
