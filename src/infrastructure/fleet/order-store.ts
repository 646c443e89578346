import { type Kysely, sql } from "kysely";
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
import {
  type Database,
  deleteRows,
  insertRows,
  type OrderRow,
  queryRows,
  type StoreTransaction,
  selectRows,
  storable,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

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
    const rows = await queryRows<{ workspace: string }>(
      db,
      sql`select workspace from machine_processes where workspace in (${sql.join([...new Set(workspaces)])})
        group by workspace having max(beat_at) <= ${clock()} - ${sql.lit(DEAD_AFTER_MS)}`,
    );
    return new Set(rows.map((row) => row.workspace));
  }

  const moveTaken = (within: StoreTransaction, id: string, state: OrderState | "waiting") =>
    updateRows(within, "control_orders", { id, state: "taken" }, { state });

  const orders: ControlOrders = {
    place: (order, limitMs) =>
      db.transaction().execute(async (within) => {
        const deadline_at = sql`${clock()} + ${sql.lit(limitMs)}`;
        const row = { ...toRow(order), state: "waiting", deadline_at };
        if ((await upsertRow(within, "control_orders", row, ["id"], [])) > 0)
          await queue.add([workOfOrder(order, queueOf(order.workspace))], within);
      }),
    async take() {
      const claimed = await queue.claim({ queue: own }, async (work, within) => {
        const inTime = sql`and deadline_at > ${clock()} returning *`;
        const { rows } = await sql<OrderRow>`update control_orders set state = 'taken'
          where id = ${work.ref} and state = 'waiting' ${inTime}`.execute(within);
        return rows[0];
      });
      if (claimed === null) return null;
      const { work, read: row } = claimed;
      if (row !== undefined) return { work, order: fromRow(row) };
      // Withdrawn, too late, or begun by a process that died, whose progress is unknown.
      await queue.finish(work, {
        wake: ORDER_ENDS,
        write: (within) => moveTaken(within, work.ref, "cut-off"),
      });
      return orders.take();
    },
    answer: (work, answer) =>
      queue.finish(work, {
        wake: ORDER_ENDS,
        write: async (within) => {
          const pieces = piecesOf(storable(answer));
          const rows = pieces.map((body, position) => ({ order_id: work.ref, position, body }));
          await insertRows(within, "order_answers", rows);
          await updateRows(within, "control_orders", { id: work.ref }, { state: "answered" });
        },
      }),
    passOn: (work) =>
      queue.handBack(work, {
        begun: false,
        write: (within) => moveTaken(within, work.ref, "waiting"),
      }),
    async look(ids) {
      if (ids.length === 0) return new Map();
      const rows = await selectRows(db, "control_orders", {}, sql`where id in (${sql.join(ids)})`);
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
      const taken = sql`delete from order_answers where order_id = ${id} returning position, body`;
      const rows = await queryRows<{ position: number; body: string }>(db, taken);
      return rows
        .sort((x, y) => x.position - y.position)
        .map(({ body }) => body)
        .join("");
    },
    async withdraw(id) {
      const waiting = { id, state: "waiting" };
      return (await updateRows(db, "control_orders", waiting, { state: "withdrawn" })) > 0;
    },
    async isHeard({ channel, userId }) {
      const heard = { channel, user_id: userId, state: "working" };
      return (await selectRows(db, "messages", heard, sql`limit 1`)).length > 0;
    },
    async sweep() {
      await deleteRows(db, "order_answers", {}, sql`where order_id not in (select id from control_orders)`);
      const isOver = sql`where deadline_at < ${clock()} - ${sql.lit(KEEP_MS)}`;
      await deleteRows(db, "control_orders", {}, isOver);
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
