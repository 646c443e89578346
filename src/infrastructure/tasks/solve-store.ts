import { type Kysely, sql } from "kysely";
import type { Order, SolveStore, SolveTask } from "../../application/ports/tasks.ts";
import type { Work, WorkQueue } from "../../application/ports/work-queue.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/forge-items.ts";
import type { StoreTransaction } from "../serve/work-engine.ts";
import { claimExists } from "../serve/claim-stands.ts";
import { migrate } from "../store/migrate.ts";
import type { Database } from "../store/schema.ts";
import { createSolveClaims } from "./solve-claims.ts";
import {
  createSolveReader,
  LIVE_STATES,
  type TaskValues,
  toTask,
  toTaskRow,
  workOfTask,
} from "./solve-rows.ts";
import { storable } from "../store/storable.ts";

const DELIVERIES_KEPT_MS = 7 * 24 * 3600 * 1000;

export interface SolveStoreDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

export async function createSolveStore(parts: SolveStoreDeps): Promise<SolveStore> {
  const { db, now, queue, newWorkId } = parts;
  await migrate(db, now);
  const live = async (item: ItemRef) => {
    const query = db.selectFrom("solve_tasks").select("body").where("item", "=", itemUrl(item));
    return toTask(await query.where("state", "in", LIVE_STATES).executeTakeFirst());
  };
  /** What is asked for by hand is begun by the process that asks. */
  const workFor = (task: SolveTask) => (task.trigger === "hand" ? [] : [workOfTask(task, newWorkId())]);
  const open: SolveStore["open"] = async (task) => {
    const fresh = await db.transaction().execute(async (within) => {
      const work = workFor(task);
      const made = await within
        .insertInto("solve_tasks")
        .values({ ...toTaskRow(task), work_id: work[0]?.id ?? null, ordered: null })
        .onConflict((conflict) => conflict.doNothing())
        .returning("id")
        .execute();
      if (made.length === 1) await queue.add(work, within);
      return made.length === 1;
    });
    if (fresh) return { task, fresh };
    const other = await live(task.item);
    return other === null ? open(task) : { task: other, fresh: false };
  };
  return {
    ...createSolveReader(db),
    ...createSolveClaims({ db, queue, newWorkId }),
    open,
    reopen: (task) =>
      db.transaction().execute(async (within) => {
        const work = workFor(task);
        const reopened = await reopenRow(within, toTaskRow(task), work[0]?.id ?? null);
        if (reopened) await queue.add(work, within);
        return reopened;
      }),
    async findLast(item) {
      const query = db.selectFrom("solve_tasks").select("body").where("item", "=", itemUrl(item));
      return toTask(await query.orderBy("created_at", "desc").limit(1).executeTakeFirst());
    },
    findLive: live,
    note: (id, step, claim) =>
      db.transaction().execute(async (within) => {
        if (!(await claimExists(within, claim))) return;
        const body = storable(JSON.stringify(step));
        await sql`insert into task_steps (task_id, position, at, kind, body)
          select ${id}, coalesce(max(position), 0) + 1, ${step.at}, ${step.kind}, ${body} from task_steps where task_id = ${id}`.execute(
          within,
        );
      }),
    save: (task, claim) =>
      db
        .transaction()
        .execute((within) =>
          claim === undefined ? saveFree(parts, within, task) : saveHeld(within, task, claim),
        ),
    async order(id, order) {
      await db.updateTable("solve_tasks").set({ ordered: order }).where("id", "=", id).execute();
    },
    async orderOf(id) {
      const query = db.selectFrom("solve_tasks").select("ordered").where("id", "=", id);
      return ((await query.executeTakeFirst())?.ordered ?? null) as Order | null;
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

async function reopenRow(
  within: StoreTransaction,
  values: TaskValues,
  workId: string | null,
): Promise<boolean> {
  const rows = await within
    .updateTable("solve_tasks")
    .set({ ...values, work_id: workId })
    .where("id", "=", values.id)
    .where("state", "not in", LIVE_STATES)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("solve_tasks as other")
            .select("other.id")
            .where("other.item", "=", values.item)
            .where("other.state", "in", LIVE_STATES),
        ),
      ),
    )
    .returning("id")
    .execute();
  return rows.length === 1;
}

/** What was taken from the task meanwhile, by a new claim or with its work, this process writes no more. */
async function saveHeld(within: StoreTransaction, task: SolveTask, claim: Work): Promise<boolean> {
  if (!(await claimExists(within, claim))) return false;
  const { id, ...values } = toTaskRow(task);
  const { numUpdatedRows } = await within
    .updateTable("solve_tasks")
    .set(values)
    .where("id", "=", id)
    .where("work_id", "=", claim.id)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function saveFree(
  { queue, newWorkId }: SolveStoreDeps,
  within: StoreTransaction,
  task: SolveTask,
): Promise<boolean> {
  const { id, ...values } = toTaskRow(task);
  const query = within.selectFrom("solve_tasks").select(["state", "work_id"]).where("id", "=", id);
  const before = await query.executeTakeFirst();
  const queued = (state: string | undefined) => state === "waiting" || state === "running";
  const kept = queued(before?.state) ? (before?.work_id ?? null) : null;
  const work = task.state === "waiting" && kept === null ? [workOfTask(task, newWorkId())] : [];
  const workId = work[0]?.id ?? (queued(task.state) ? kept : null);
  const { numUpdatedRows } = await within
    .updateTable("solve_tasks")
    .set({ ...values, work_id: workId })
    .where("id", "=", id)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) await queue.add(work, within);
  return numUpdatedRows > 0n;
}
