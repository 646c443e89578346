import { type Kysely, type RawBuilder, sql } from "kysely";
import type { ChatLeases } from "../../application/ports/chat.ts";
import { BEAT_MS, createReach } from "../../domain/store/liveness.ts";
import { BREAK_MS, databaseClock, isDead, writeBeat } from "../store/liveness.ts";
import type { Database } from "../store/schema.ts";

/** The beat of a process that has no queue, while it holds a turn or waits for one. */
interface TurnBeat {
  begin(name: string): void;
  /** Writes at most every `BEAT_MS`; a turn is young enough by itself before. */
  beat(): Promise<void>;
  /** The row goes with the last of them. */
  end(name: string): Promise<void>;
}

/** Of processes that were killed; servers forget them sooner. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

function createTurnBeat({
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

/** How often a ticket's number is tried again when another process took it in the same moment. */
const LEASE_TRIES = 50;

export interface ChatLeaseDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  /** This process, by a name from which `isGone` can tell. */
  readonly process: string;
  readonly isGone: (process: string) => boolean;
  /** Whether the queue of this process says that it lives, under the same name. Default: it is said here. */
  readonly beatsElsewhere?: boolean;
  /** Told of the turns that are taken here. */
  readonly held?: Map<string, string>;
  /** The time of the embedded store. */
  readonly now?: () => Date;
}

/** The leases of one workspace's chats: the same chat in another workspace waits for nobody here. */
export function createChatLeases(parts: ChatLeaseDeps): ChatLeases {
  const { db, workspace, process, isGone, held: turns, now = () => new Date() } = parts;
  const clock = databaseClock(db, now);
  const life = parts.beatsElsewhere === true ? null : createTurnBeat({ db, process, clock });
  const reach = createReach(BREAK_MS);
  const judge = (row: LifeRow) => {
    const at = Number(row.now);
    const beatAt = row.beat_at === null ? null : Number(row.beat_at);
    // Where there is a queue, its beat alone judges silence, and ends the turns of the dead.
    const reachedSince = life === null ? Number.POSITIVE_INFINITY : reach.reached(at);
    return !isDead(
      { process: row.process, beatAt, tookAt: Number(row.since) },
      { now: at, reachedSince },
      isGone,
    );
  };
  /** The holder if it lives, and the name that stands in the row. */
  async function holderOf(chatKey: string): Promise<{ owner: string; alive: boolean } | null> {
    const row = await withLife(db, "chat_leases", clock)
      .where("workspace", "=", workspace)
      .where("chat_key", "=", chatKey)
      .executeTakeFirst();
    return row === undefined ? null : { owner: row.owner, alive: judge(row) };
  }

  return {
    beat: async () => life?.beat(),
    async enter(chatKey, owner) {
      for (let attempt = 1; ; attempt++) {
        const added = await db
          .insertInto("chat_tickets")
          .columns(["workspace", "chat_key", "ticket", "owner", "process", "since"])
          .expression((eb) =>
            eb
              .selectFrom("chat_tickets")
              .select([
                sql<string>`${workspace}`.as("workspace"),
                sql<string>`${chatKey}`.as("chat_key"),
                sql<number>`coalesce(max(ticket), 0) + 1`.as("ticket"),
                sql<string>`${owner}`.as("owner"),
                sql<string>`${process}`.as("process"),
                clock().as("since"),
              ])
              .where("workspace", "=", workspace)
              .where("chat_key", "=", chatKey),
          )
          .onConflict((conflict) => conflict.doNothing())
          .returning("ticket")
          .execute();
        if (added[0] !== undefined) {
          life?.begin(`line ${owner}`);
          return Number(added[0].ticket);
        }
        if (attempt === LEASE_TRIES) throw new Error(`no place in the line of ${chatKey}`);
      }
    },
    async leave(chatKey, owner) {
      await db
        .deleteFrom("chat_tickets")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", owner)
        .execute();
      await life?.end(`line ${owner}`);
    },
    async take({ chatKey, owner, ticket }) {
      const before = await withLife(db, "chat_tickets", clock)
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("ticket", "<", ticket)
        .execute();
      const held = await holderOf(chatKey);
      const holder = held?.alive ? held.owner : undefined;
      const waiting = before.filter((one) => one.owner !== holder && judge(one));
      const ahead = waiting.length + (holder === undefined ? 0 : 1);
      if (ahead > 0) return { taken: false, ahead };
      const values = { owner, process, since: clock(), stop: 0 };
      const taken = await db
        .insertInto("chat_leases")
        .values({ workspace, chat_key: chatKey, ...values })
        .onConflict((conflict) =>
          conflict
            .columns(["workspace", "chat_key"])
            .doUpdateSet(values)
            .where("chat_leases.owner", "=", held?.owner ?? ""),
        )
        .returning("owner")
        .execute();
      if (taken.length !== 1) return { taken: false, ahead: 1 };
      turns?.set(chatKey, owner);
      life?.begin(`turn ${owner}`);
      return { taken: true, ahead: 0 };
    },
    async look(chatKey, owner) {
      const row = await db
        .selectFrom("chat_leases")
        .select("stop")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", owner)
        .executeTakeFirst();
      return { held: row !== undefined, stop: row?.stop === 1 };
    },
    async release(chatKey, owner) {
      if (turns?.get(chatKey) === owner) turns.delete(chatKey);
      await db
        .deleteFrom("chat_leases")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", owner)
        .execute();
      await life?.end(`turn ${owner}`);
    },
    async requestStop(chatKey) {
      const holder = await holderOf(chatKey);
      if (holder === null || !holder.alive) return false;
      const rows = await db
        .updateTable("chat_leases")
        .set({ stop: 1 })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", holder.owner)
        .returning("owner")
        .execute();
      return rows.length === 1;
    },
  };
}

interface LifeRow {
  readonly process: string;
  readonly since: number;
  readonly beat_at: number | null;
  readonly now: number;
}

/** Rows with what is known of the process that made them. */
function withLife(
  db: Kysely<Database>,
  table: "chat_leases" | "chat_tickets",
  clock: () => RawBuilder<number>,
) {
  return db
    .selectFrom(table)
    .leftJoin("work_owners", "work_owners.owner", "process")
    .select([`${table}.owner as owner`, "process", "since", "beat_at", clock().as("now")]);
}
