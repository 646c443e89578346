import { type Kysely, type RawBuilder, sql } from "kysely";
import type { ChatTurns, TurnClaim } from "../../application/ports/chat.ts";
import { BEAT_MS, createReach } from "../../domain/store/store-trouble.ts";
import { BREAK_MS, databaseClock, type HeldTurn, isDead, writeBeat } from "../store/liveness.ts";
import { type Database, deleteRows, insertionOf, selectRows, updateRows } from "../store/schema.ts";
import { workKeyOfChat, workspaceQueues } from "./work-places.ts";

/** The subject of work that a process began for itself: a claim that no engine knows, so that no server takes it. */
export const OWN_WORK = "own";

export async function endOwnWork(db: Kysely<Database>, process: string): Promise<void> {
  await deleteRows(db, "work_claims", { owner: process, ref: OWN_WORK });
}

/** Of processes that were killed; servers forget them sooner. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

/** The beat of a process that has no queue, while it has a turn or waits for one. */
function createTurnBeat({ db, process }: ChatTurnDeps, clock: () => RawBuilder<number>) {
  const inHand = new Set<string>();
  const state = { at: 0, written: false };
  return {
    begin(id: string): void {
      if (inHand.size === 0) state.at = performance.now();
      inHand.add(id);
    },
    /** Writes at most every `BEAT_MS`; a claim is young enough by itself before. */
    async beat(): Promise<void> {
      if (performance.now() - state.at < BEAT_MS) return;
      state.at = performance.now();
      state.written = true;
      await writeBeat(db, process, clock);
    },
    async end(id: string): Promise<void> {
      inHand.delete(id);
      if (inHand.size > 0 || !state.written) return;
      state.written = false;
      const isOver = sql`or beat_at < ${clock()} - ${sql.lit(FORGOTTEN_AFTER_MS)}`;
      await deleteRows(db, "work_owners", { owner: process }, isOver);
    },
  };
}

export interface ChatTurnDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  /** This process, by a name from which `isGone` can tell. */
  readonly process: string;
  readonly isGone: (process: string) => boolean;
  readonly newId: () => string;
  /** Whether the queue of this process says that it lives, under the same name. Default: it is said here. */
  readonly beatsElsewhere?: boolean;
  /** Called with the turns that are taken here. */
  readonly held?: Map<string, HeldTurn>;
  readonly now?: () => Date;
}

/** The first place in the line. Claims that want no turn have none, which is 0. */
const HAS_TURN = 1;

/** Of Postgres; writers of SQLite follow each other. */
function isUniqueViolation(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === "23505";
}

/** The turns of one workspace's chats: the same chat in another workspace does not wait for them. */
export function createChatTurns(deps: ChatTurnDeps): ChatTurns {
  const { db, workspace, process, isGone, held, now = () => new Date() } = deps;
  const { messages: queue } = workspaceQueues(workspace);
  const keyOf = (chatKey: string) => workKeyOfChat(workspace, chatKey);
  const clock = databaseClock(db, now);
  const life = deps.beatsElsewhere === true ? null : createTurnBeat(deps, clock);
  const reach = createReach(BREAK_MS);

  function isAlive(row: LineRow): boolean {
    const at = Number(row.now);
    const beatAt = row.beat_at === null ? null : Number(row.beat_at);
    // Where there is a queue, its beat alone judges silence, and ends the work of the dead.
    const reachedSince = life === null ? Number.POSITIVE_INFINITY : reach.reached(at);
    const owner = { process: row.owner ?? "", beatAt, tookAt: Number(row.claimed_at) };
    return !isDead(owner, { now: at, reachedSince }, isGone);
  }

  /** The claim that has the turn, then those that wait for it, in their order. */
  const readLine = (chatKey: string) =>
    db
      .selectFrom("work_claims")
      .leftJoin("work_owners", "work_owners.owner", "work_claims.owner")
      .select(["id", "ref", "fence", "turn", "work_claims.owner as owner", "claimed_at", "beat_at"])
      .select(clock().as("now"))
      .where(({ and }) => and({ queue, work_key: keyOf(chatKey) }))
      .where("turn", "<>", 0)
      .orderBy("turn")
      .orderBy("id")
      .execute();

  /** The turn of a dead process is free; a message that it had claimed still waits for a server to release it. */
  async function freeTurn({ id, ref, fence, owner }: LineRow): Promise<void> {
    if (ref === OWN_WORK) await deleteRows(db, "work_claims", { id, owner });
    else await updateRows(db, "work_claims", { id, fence }, { turn: 0 });
  }

  const others = ({ chatKey, id }: TurnClaim) =>
    sql`from work_claims as other where other.queue = ${queue}
      and other.work_key = ${keyOf(chatKey)} and other.id <> ${id}`;
  /** The end of the line, which is the turn where the line is empty. */
  const lastPlace = (claim: TurnClaim) =>
    sql<number>`(select coalesce(max(other.turn), 0) + 1 ${others(claim)})`;
  /** The turn, where no other claim has it; else the same place. */
  const freePlace = (claim: TurnClaim) =>
    sql<number>`case when exists (select 1 ${others(claim)} and other.turn = ${sql.lit(HAS_TURN)})
      then work_claims.turn else ${sql.lit(HAS_TURN)} end`;

  /** Null when another process was given the turn in the same moment. */
  async function insertClaim(claim: TurnClaim): Promise<number | null> {
    const { chatKey, id, fence } = claim;
    const work = { id, queue, work_key: keyOf(chatKey), owner_group: "", ref: OWN_WORK, light: 0 };
    const claimed = { attempts: 1, fence, owner: process, claimed_at: clock(), stop: 0 };
    const row = { ...work, ...claimed, turn: lastPlace(claim) };
    const end = sql`on conflict do nothing returning turn`;
    const { rows } = await insertionOf("work_claims", [row], end).execute(db);
    return rows[0]?.turn ?? null;
  }

  /** Null when another process was given the turn in the same moment, or this one lost its claim. */
  async function markClaim({ id, fence }: TurnClaim, turn: RawBuilder<number>): Promise<number | null> {
    try {
      // A process that takes a turn was heard of now.
      const { rows } = await sql<{
        turn: number;
      }>`update work_claims set turn = ${turn}, claimed_at = ${clock()}
        where id = ${id} and fence = ${fence} and owner = ${process} returning turn`.execute(db);
      return rows[0]?.turn ?? null;
    } catch (error) {
      if (isUniqueViolation(error)) return null;
      throw error;
    }
  }

  function isTaken(claim: TurnClaim, turn: number | null): boolean {
    if (turn === HAS_TURN) held?.set(claim.chatKey, claim);
    return turn === HAS_TURN;
  }

  async function begin(claim: TurnClaim): Promise<boolean> {
    const turn = claim.isOwn ? await insertClaim(claim) : await markClaim(claim, lastPlace(claim));
    if (claim.isOwn) life?.begin(claim.id);
    return isTaken(claim, turn);
  }

  return {
    name(chatKey, claim) {
      if (claim !== undefined && claim.key === keyOf(chatKey))
        return { chatKey, id: claim.id, fence: claim.fence, isOwn: false };
      return { chatKey, id: deps.newId(), fence: 1, isOwn: true };
    },
    begin,
    async take(claim) {
      const line = await readLine(claim.chatKey);
      const place = line.findIndex(({ id }) => id === claim.id);
      const before: LineRow[] = [];
      for (const row of place < 0 ? line : line.slice(0, place))
        if (isAlive(row)) before.push(row);
        else await freeTurn(row);
      // It did not get into the line, or was taken for dead while it waited.
      const isNew = place < 0;
      if (before.length > 0 && !isNew) return { taken: false, ahead: before.length };
      const taken = isNew ? await begin(claim) : isTaken(claim, await markClaim(claim, freePlace(claim)));
      return { taken, ahead: taken ? 0 : Math.max(1, before.length) };
    },
    beat: async () => life?.beat(),
    async look({ id, fence }) {
      const [row] = await selectRows(db, "work_claims", { id, fence, turn: HAS_TURN });
      return { held: row !== undefined, stop: row?.stop === 1 };
    },
    async end(claim) {
      const { chatKey, id, isOwn } = claim;
      if (held?.get(chatKey)?.id === id) held.delete(chatKey);
      if (isOwn) await deleteRows(db, "work_claims", { id, owner: process });
      await life?.end(id);
    },
    async requestStop(chatKey) {
      const [holder] = await readLine(chatKey);
      if (holder === undefined || holder.turn !== HAS_TURN || !isAlive(holder)) return false;
      return (await updateRows(db, "work_claims", { id: holder.id, turn: HAS_TURN }, { stop: 1 })) > 0;
    },
  };
}

interface LineRow {
  readonly id: string;
  readonly ref: string;
  readonly fence: number;
  readonly turn: number;
  readonly owner: string | null;
  readonly claimed_at: number;
  readonly beat_at: number | null;
  readonly now: number;
}
