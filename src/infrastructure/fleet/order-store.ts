import type { Kysely } from "kysely";
import {
  type ControlOrder,
  type ControlOrders,
  LOOKING_VERBS,
  ORDER_ENDS,
  type OrderState,
  type OrderVerb,
} from "../../application/ports/fleet.ts";
import type { Role, WorkQueue } from "../../application/ports/serve.ts";
import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import { databaseClock } from "../store/liveness.ts";
import { type Database, type OrderRow, type StoreTransaction, storable } from "../store/schema.ts";

export interface ControlOrdersDeps {
  readonly db: Kysely<Database>;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly now: () => Date;
  /** Whose orders are taken here, as the store names it. */
  readonly workspace: string;
  /** The queue in which the orders of a workspace wait. */
  readonly queueOf: (workspace: string) => string;
}

/** A character is at most four bytes of UTF-8: a piece is at most 64 KiB. */
const PIECE_CHARACTERS = 16_000;
/** Longer than any caller waits for an answer. */
const KEEP_MS = 120_000;

/** Orders as rows, and as work in a queue of their own for each workspace. */
export function createControlOrders({
  db,
  queue,
  now,
  workspace,
  queueOf,
}: ControlOrdersDeps): ControlOrders {
  const clock = databaseClock(db, now);
  const own = queueOf(workspace);

  /** Those of these workspaces that were served, and are not any more. */
  async function silentOf(workspaces: readonly string[]): Promise<ReadonlySet<string>> {
    if (workspaces.length === 0) return new Set();
    const rows = await db
      .selectFrom("machine_processes")
      .select("workspace")
      .where("workspace", "in", [...new Set(workspaces)])
      .groupBy("workspace")
      .having((is) => is(is.fn.max("beat_at"), "<=", is(clock(), "-", DEAD_AFTER_MS)))
      .execute();
    return new Set(rows.map((row) => row.workspace));
  }

  const orders: ControlOrders = {
    place: (order, limitMs) =>
      db.transaction().execute(async (within) => {
        const { numInsertedOrUpdatedRows = 0n } = await within
          .insertInto("control_orders")
          .values((is) => ({ ...toRow(order), state: "waiting", deadline_at: is(clock(), "+", limitMs) }))
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows > 0n)
          await queue.add([workOfOrder(order, queueOf(order.workspace))], within);
      }),
    async take() {
      const claimed = await queue.claim({ queue: own }, (work, within) =>
        within
          .updateTable("control_orders")
          .set({ state: "taken" })
          .where(({ and }) => and({ id: work.ref, state: "waiting" }))
          .where("deadline_at", ">", clock())
          .returningAll()
          .executeTakeFirst(),
      );
      if (claimed === null) return null;
      const { work, read: row } = claimed;
      if (row !== undefined) return { work, order: fromRow(row) };
      // Withdrawn, too late, or begun by a process that died, whose progress is unknown.
      await queue.finish(work, {
        wake: ORDER_ENDS,
        write: async (within) =>
          void (await within
            .updateTable("control_orders")
            .set({ state: "cut-off" })
            .where(({ and }) => and({ id: work.ref, state: "taken" }))
            .execute()),
      });
      return orders.take();
    },
    answer: (work, answer) =>
      queue.finish(work, {
        wake: ORDER_ENDS,
        write: async (within) => {
          const pieces = piecesOf(storable(answer));
          await within
            .insertInto("order_answers")
            .values(pieces.map((body, position) => ({ order_id: work.ref, position, body })))
            .execute();
          await within
            .updateTable("control_orders")
            .set({ state: "answered" })
            .where("id", "=", work.ref)
            .execute();
        },
      }),
    passOn: (work) =>
      queue.handBack(work, {
        begun: false,
        write: async (within) =>
          void (await within
            .updateTable("control_orders")
            .set({ state: "waiting" })
            .where(({ and }) => and({ id: work.ref, state: "taken" }))
            .execute()),
      }),
    async look(ids) {
      if (ids.length === 0) return new Map();
      const rows = await db
        .selectFrom("control_orders")
        .select(["id", "state", "workspace"])
        .where("id", "in", ids)
        .execute();
      const taken = rows.filter(({ state }) => state === "taken").map((row) => row.workspace);
      const silent = await silentOf(taken);
      return new Map(
        rows.map(({ id, state, workspace: to }) => [
          id,
          state === "taken" && silent.has(to) ? "gone" : (state as OrderState),
        ]),
      );
    },
    async collect(id) {
      const rows = await db
        .deleteFrom("order_answers")
        .where("order_id", "=", id)
        .returning(["position", "body"])
        .execute();
      return rows
        .sort((x, y) => x.position - y.position)
        .map(({ body }) => body)
        .join("");
    },
    async withdraw(id) {
      const { numUpdatedRows } = await db
        .updateTable("control_orders")
        .set({ state: "withdrawn" })
        .where(({ and }) => and({ id, state: "waiting" }))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async isHeard({ channel, userId }) {
      const found = await db
        .selectFrom("messages")
        .select("id")
        .where(({ and }) => and({ channel, user_id: userId, state: "working" }))
        .limit(1)
        .executeTakeFirst();
      return found !== undefined;
    },
    async sweep() {
      await db
        .deleteFrom("order_answers")
        .where("order_id", "not in", ({ selectFrom }) => selectFrom("control_orders").select("id"))
        .execute();
      await db
        .deleteFrom("control_orders")
        .where("deadline_at", "<", (is) => is(clock(), "-", KEEP_MS))
        .execute();
    },
  };
  return orders;
}

/** An order that changes a job waits for its turn there; one that only looks does not. */
function workOfOrder({ id, jobId, verb, asker }: ControlOrder, queue: string) {
  const looks = (LOOKING_VERBS as readonly string[]).includes(verb);
  return {
    id,
    queue,
    key: looks ? id : jobId,
    group: storable(`${asker.channel}:${asker.userId}`).slice(0, 500),
    ref: id,
    light: false,
  };
}

function toRow(order: ControlOrder): Omit<OrderRow, "state" | "deadline_at"> {
  const { id, workspace, jobId, verb, asker, force = false, path = null } = order;
  return {
    id,
    workspace,
    job_id: storable(jobId),
    verb,
    channel: storable(asker.channel),
    user_id: storable(asker.userId),
    role: asker.role,
    force: force ? 1 : 0,
    path: path === null ? null : storable(path),
  };
}

function fromRow(row: OrderRow): ControlOrder {
  return {
    id: row.id,
    workspace: row.workspace,
    jobId: row.job_id,
    verb: row.verb as OrderVerb,
    asker: { channel: row.channel, userId: row.user_id, role: row.role as Role },
    force: Number(row.force) === 1,
    ...(row.path !== null && { path: row.path }),
  };
}

/** No piece ends within a character. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE_CHARACTERS, text.length);
    if (/[\uD800-\uDBFF]/.test(text[to - 1] as string) && to < text.length) to -= 1;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}
