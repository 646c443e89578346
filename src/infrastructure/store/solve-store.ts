import { type Kysely, sql } from "kysely";
import type { Order, SolveStore, SolveTask } from "../../application/ports/solve-store.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/item-url.ts";
import type { TaskStep } from "../../domain/tasks/step.ts";
import { migrate } from "./migrate.ts";
import type { Database } from "./schema.ts";
import type { SolveRow } from "./solve-tables.ts";
import { storable } from "./storable.ts";
import { createStoreTime } from "./store-time.ts";

const LIVE = ["waiting", "running", "paused"];
const DELIVERIES_KEPT_MS = 7 * 24 * 3600 * 1000;

export async function createSolveStore(db: Kysely<Database>, now: () => Date): Promise<SolveStore> {
  await migrate(db, now);
  const storeTime = createStoreTime(db, now);
  const shared = async (moment: Date) => (await storeTime(moment)).toISOString();
  const live = async (item: ItemRef) => {
    const query = db.selectFrom("solve_tasks").select("body").where("item", "=", itemUrl(item));
    return toTask(await query.where("state", "in", LIVE).executeTakeFirst());
  };
  const open: SolveStore["open"] = async (task) => {
    const values = { ...toRow(task), owner: null, lease_until: null, ordered: null };
    const made = await db
      .insertInto("solve_tasks")
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .returning("id")
      .execute();
    if (made.length === 1) return { task, fresh: true };
    const other = await live(task.item);
    return other === null ? open(task) : { task: other, fresh: false };
  };
  return {
    open,
    async reopen(task) {
      const { id, item: _, ...values } = toRow(task);
      const ended = db.updateTable("solve_tasks").set(values).where("id", "=", id);
      const rows = await ended
        .where("state", "not in", LIVE)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("solve_tasks as other")
                .select("other.id")
                .where("other.item", "=", itemUrl(task.item))
                .where("other.state", "in", LIVE),
            ),
          ),
        )
        .returning("id")
        .execute();
      return rows.length === 1;
    },
    async findLast(item) {
      const query = db.selectFrom("solve_tasks").select("body").where("item", "=", itemUrl(item));
      return toTask(await query.orderBy("created_at", "desc").limit(1).executeTakeFirst());
    },
    async note(id, step) {
      const body = storable(JSON.stringify(step));
      await sql`insert into task_steps (task_id, position, at, kind, body)
        select ${id}, coalesce(max(position), 0) + 1, ${step.at}, ${step.kind}, ${body} from task_steps where task_id = ${id}`.execute(
        db,
      );
    },
    async steps(id) {
      const query = db.selectFrom("task_steps").select("body").where("task_id", "=", id);
      const rows = await query.orderBy("position").execute();
      return rows.map(({ body }) => JSON.parse(body) as TaskStep);
    },
    async find(id) {
      return toTask(
        await db.selectFrom("solve_tasks").select("body").where("id", "=", id).executeTakeFirst(),
      );
    },
    findLive: live,
    async list(limit) {
      const rows = await db
        .selectFrom("solve_tasks")
        .select("body")
        .orderBy("created_at", "desc")
        .limit(limit)
        .execute();
      return rows.flatMap((row) => toTask(row) ?? []);
    },
    async due(at, isGone) {
      const time = await shared(at);
      const rows = await db
        .selectFrom("solve_tasks")
        .select(["body", "owner", "lease_until"])
        .where("state", "in", ["waiting", "running"])
        .orderBy("created_at")
        .execute();
      const free = rows.filter(
        ({ owner, lease_until: until }) => owner === null || until === null || until <= time || isGone(owner),
      );
      return free.flatMap((row) => toTask(row) ?? []);
    },
    async lease({ id, owner, now: at, until, isGone }) {
      const [time, end] = [await shared(at), await shared(until)];
      const held = await db.selectFrom("solve_tasks").select("owner").where("id", "=", id).executeTakeFirst();
      const dead = typeof held?.owner === "string" && isGone(held.owner) ? held.owner : owner;
      const rows = await db
        .updateTable("solve_tasks")
        .set({ owner, lease_until: end })
        .where("id", "=", id)
        .where(({ eb, or }) =>
          or([
            eb("lease_until", "is", null),
            eb("lease_until", "<=", time),
            eb("owner", "in", [owner, dead]),
          ]),
        )
        .returning("id")
        .execute();
      return rows.length === 1;
    },
    async renew(id, owner, until) {
      const [row] = await db
        .updateTable("solve_tasks")
        .set({ lease_until: await shared(until) })
        .where("id", "=", id)
        .where("owner", "=", owner)
        .returning("ordered")
        .execute();
      return { held: row !== undefined, order: (row?.ordered ?? null) as Order | null };
    },
    async release(id, owner) {
      await db
        .updateTable("solve_tasks")
        .set({ owner: null, lease_until: null })
        .where("id", "=", id)
        .where("owner", "=", owner)
        .execute();
    },
    async save(task) {
      const { item: _, id, ...values } = toRow(task);
      await db.updateTable("solve_tasks").set(values).where("id", "=", id).execute();
    },
    async order(id, order) {
      await db.updateTable("solve_tasks").set({ ordered: order }).where("id", "=", id).execute();
    },
    async firstSight(deliveryId, at) {
      const old = new Date(at.getTime() - DELIVERIES_KEPT_MS).toISOString();
      await db.deleteFrom("forge_deliveries").where("seen_at", "<", old).execute();
      const made = await db
        .insertInto("forge_deliveries")
        .values({ id: deliveryId, seen_at: at.toISOString() })
        .onConflict((conflict) => conflict.doNothing())
        .returning("id")
        .execute();
      return made.length === 1;
    },
  };
}

function toRow(task: SolveTask): Pick<SolveRow, "id" | "item" | "state" | "created_at" | "body"> {
  return {
    id: task.id,
    item: itemUrl(task.item),
    state: task.state,
    created_at: task.createdAt,
    body: storable(JSON.stringify(task)),
  };
}

function toTask(row: { readonly body: string } | undefined): SolveTask | null {
  return row === undefined ? null : (JSON.parse(row.body) as SolveTask);
}
