import { type Kysely, type RawBuilder, sql } from "kysely";
import type { IntakeEvent } from "../../application/ports/forges.ts";
import type { ClaimRequest, NewWork, Work, WorkQueue } from "../../application/ports/serve.ts";
import type {
  ClaimedEvent,
  ClaimedTask,
  ForgeEvents,
  Order,
  SolveReader,
  SolveStore,
  SolveTask,
} from "../../application/ports/tasks.ts";
import type { ForgeKind } from "../../domain/config/configured-kinds.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/forge-items.ts";
import type { TaskStep } from "../../domain/tasks/task-steps.ts";
import { hashHex } from "../platform/hash.ts";
import { claimExists } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  insertRows,
  migrate,
  queryRows,
  type SolveRow,
  type StoreTransaction,
  selectRows,
  storable,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

export const TASK_KIND = "tasks";

const IS_LIVE = sql`state in ('waiting', 'running', 'paused')`;

export function createSolveReader(db: Kysely<Database>): SolveReader {
  return {
    find: async (id) => toTask((await selectRows(db, "solve_tasks", { id }))[0]),
    async list(limit) {
      const rows = await selectRows(db, "solve_tasks", {}, sql`order by created_at desc limit ${limit}`);
      return rows.flatMap((row) => toTask(row) ?? []);
    },
    async steps(id) {
      const rows = await selectRows(db, "task_steps", { task_id: id }, sql`order by position`);
      return rows.map(({ body }) => JSON.parse(body) as TaskStep);
    },
  };
}

type TaskValues = Omit<SolveRow, "work_id" | "ordered">;

function toTaskRow(task: SolveTask): TaskValues {
  return {
    id: task.id,
    item: itemUrl(task.item),
    state: task.state,
    created_at: task.createdAt,
    needs: needsOf(task),
    body: storable(JSON.stringify(task)),
  };
}

function toTask(row: { readonly body: string } | undefined): SolveTask | null {
  return row === undefined ? null : (JSON.parse(row.body) as SolveTask);
}

/** One item is worked on one at a time; each set of needs is a queue. */
function workOfTask(task: SolveTask, id: string): NewWork {
  const key = hashHex("sha256", itemUrl(task.item));
  return { id, queue: taskQueue(needsOf(task)), key, group: "tasks", ref: task.id, light: false };
}

function taskQueue(needs: string): string {
  return `${TASK_KIND}.${hashHex("sha256", needs).slice(0, 16)}`;
}

function needsOf({ item, needs = [] }: SolveTask): string {
  return [`forge:${item.forge}`, ...new Set(needs)].sort().join(",");
}

type Claims = Pick<SolveStore, "claim" | "claimOwn" | "finish" | "handBack" | "halt" | "adopt">;

interface SolveClaimDeps {
  readonly db: Kysely<Database>;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

function createSolveClaims({ db, queue, newWorkId }: SolveClaimDeps): Claims {
  /** Null for work that was withdrawn. */
  async function read(work: Work, within: StoreTransaction): Promise<SolveTask | null> {
    const [row] = await selectRows(within, "solve_tasks", { id: work.ref });
    const task = toTask(row);
    if (row === undefined || task === null) return null;
    if (row.work_id === work.id) return row.state === "waiting" || row.state === "running" ? task : null;
    // Given up, and retried by a person.
    if (row.state !== "failed" || row.work_id === null) return null;
    if ((await selectRows(within, "solve_tasks", { item: row.item }, sql`and ${IS_LIVE}`)).length > 0)
      return null;
    const again = { ...task, state: "waiting" } as const;
    const { id, ...values } = toTaskRow(again);
    await updateRows(within, "solve_tasks", { id }, { ...values, work_id: work.id });
    return again;
  }

  const claimIn = (request: ClaimRequest) =>
    claimLive(queue, request, async (work, within) => {
      const task = await read(work, within);
      return task && { task, work };
    });

  /** Sets the work of a task that has none, unless another process was faster. */
  async function give(
    within: StoreTransaction,
    task: SolveTask,
    workId: string,
    before: string | null,
  ): Promise<boolean> {
    const set = { work_id: workId, needs: toTaskRow(task).needs };
    return (await updateRows(within, "solve_tasks", { id: task.id, work_id: before }, set)) > 0;
  }

  /** A process that died between a task's end and its claim's leaves work that holds the item. True if there was some. */
  async function finishEnded({ item }: SolveTask): Promise<boolean> {
    const isEnded = sql`and work_id is not null and state not in ('waiting', 'running')`;
    const rows = await selectRows(db, "solve_tasks", { item: itemUrl(item) }, isEnded);
    for (const row of rows) {
      const ended = toTask(row);
      const id = row.work_id;
      if (ended === null || id === null) continue;
      const claimed = await claimIn({ queue: workOfTask(ended, id).queue, id });
      if (claimed !== null) await queue.handBack(claimed.work, { begun: false });
    }
    return rows.length > 0;
  }

  async function claimOwn(id: string): Promise<ClaimedTask | null> {
    const [row] = await selectRows(db, "solve_tasks", { id });
    const task = toTask(row);
    if (row === undefined || task === null) return null;
    const { queue: name } = workOfTask(task, "");
    const queued = row.work_id !== null && (row.state === "waiting" || row.state === "running");
    if (queued) return claimIn({ queue: name, id: row.work_id as string });
    const begin = () =>
      queue.begin(workOfTask(task, newWorkId()), (work, within) => give(within, task, work.id, row.work_id));
    let begun = await begin();
    if (begun === null && (await finishEnded(task))) begun = await begin();
    if (begun === null) return null;
    if (begun.read) return { task, work: begun.work };
    await queue.finish(begun.work, {});
    return null;
  }

  return {
    async claim(has) {
      const waiting = await queryRows<{ needs: string }>(
        db,
        sql`select needs from solve_tasks where work_id is not null group by needs order by min(created_at)`,
      );
      for (const { needs } of waiting) {
        if (!needs.split(",").every((need) => has.includes(need))) continue;
        const claimed = await claimIn({ queue: taskQueue(needs) });
        if (claimed !== null) return claimed;
      }
      return null;
    },
    claimOwn,
    finish: (work, dead) =>
      queue.finish(work, {
        ...(dead !== undefined && { dead }),
        write: async (within) => {
          if (dead === undefined) await forgetWork(within, work);
        },
      }),
    handBack: (work, options) => queue.handBack(work, options),
    async halt(task, state) {
      const claimed = await claimOwn(task.id);
      if (claimed === null) return false;
      const { id, ...values } = toTaskRow({ ...claimed.task, state });
      const ended = await queue.finish(claimed.work, {
        write: async (within) => {
          await updateRows(within, "solve_tasks", { id }, values);
          await forgetWork(within, claimed.work);
        },
      });
      return ended === "done";
    },
    async adopt() {
      const isQueued = sql`and state in ('waiting', 'running') order by created_at`;
      const rows = await selectRows(db, "solve_tasks", { work_id: null }, isQueued);
      for (const task of rows.flatMap((row) => toTask(row) ?? []))
        await db.transaction().execute(async (within) => {
          const work = workOfTask(task, newWorkId());
          if (await give(within, task, work.id, null)) await queue.add([work], within);
        });
    },
  };
}

/** What `read` finds for the next work. Withdrawn work, for which that is nothing, is ended. */
async function claimLive<T>(
  queue: WorkQueue<StoreTransaction>,
  request: ClaimRequest,
  read: (work: Work, within: StoreTransaction) => Promise<T | null>,
): Promise<T | null> {
  for (;;) {
    const claimed = await queue.claim(request, read);
    if (claimed === null || claimed.read !== null) return claimed?.read ?? null;
    await queue.finish(claimed.work, {});
  }
}

async function forgetWork(within: StoreTransaction, { id, ref }: Work): Promise<void> {
  await updateRows(within, "solve_tasks", { id: ref, work_id: id }, { work_id: null });
}

/** False for one that was noted before. */
async function noteDelivery(db: Kysely<Database>, id: string, at: Date): Promise<boolean> {
  const row = { id, seen_at: at.toISOString() };
  return (await insertRows(db, "forge_deliveries", [row], sql`on conflict do nothing`)) === 1;
}

const DELIVERIES_KEPT_MS = 7 * 24 * 3600 * 1000;

export interface SolveStoreDeps extends SolveClaimDeps {
  readonly now: () => Date;
}

export async function createSolveStore(deps: SolveStoreDeps): Promise<SolveStore> {
  const { db, now, queue, newWorkId } = deps;
  await migrate(db, now);
  const findTask = async (item: ItemRef, rest: RawBuilder<unknown>) =>
    toTask((await selectRows(db, "solve_tasks", { item: itemUrl(item) }, rest))[0]);
  const live = (item: ItemRef) => findTask(item, sql`and ${IS_LIVE}`);
  /** A task requested by hand is begun by the process that asks. */
  const workFor = (task: SolveTask) => (task.trigger === "hand" ? [] : [workOfTask(task, newWorkId())]);
  const open: SolveStore["open"] = async (task) => {
    const fresh = await db.transaction().execute(async (within) => {
      const work = workFor(task);
      const row = { ...toTaskRow(task), work_id: work[0]?.id ?? null, ordered: null };
      const isNew = (await insertRows(within, "solve_tasks", [row], sql`on conflict do nothing`)) === 1;
      if (isNew) await queue.add(work, within);
      return isNew;
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
    findLast: (item) => findTask(item, sql`order by created_at desc limit 1`),
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
          claim === undefined ? saveFree(deps, within, task) : saveHeld(within, task, claim),
        ),
    async order(id, order) {
      await updateRows(db, "solve_tasks", { id }, { ordered: order });
    },
    async orderOf(id) {
      const { rows } = await sql<{
        ordered: Order | null;
      }>`select ordered from solve_tasks where id = ${id}`.execute(db);
      return rows[0]?.ordered ?? null;
    },
    async firstSight(deliveryId, at) {
      const old = new Date(at.getTime() - DELIVERIES_KEPT_MS).toISOString();
      await deleteRows(db, "forge_deliveries", {}, sql`where seen_at < ${old}`);
      return noteDelivery(db, deliveryId, at);
    },
  };
}

async function reopenRow(
  within: StoreTransaction,
  values: TaskValues,
  workId: string | null,
): Promise<boolean> {
  const isFree = sql`and not (${IS_LIVE}) and not exists (
    select 1 from solve_tasks as other where other.item = ${values.item} and other.${IS_LIVE})`;
  const set = { ...values, work_id: workId };
  return (await updateRows(within, "solve_tasks", { id: values.id }, set, isFree)) === 1;
}

/** This process no longer writes a task that was taken from it meanwhile, by a new claim or with its work. */
async function saveHeld(within: StoreTransaction, task: SolveTask, claim: Work): Promise<boolean> {
  if (!(await claimExists(within, claim))) return false;
  const { id, ...values } = toTaskRow(task);
  return (await updateRows(within, "solve_tasks", { id, work_id: claim.id }, values)) > 0;
}

async function saveFree(
  { queue, newWorkId }: SolveStoreDeps,
  within: StoreTransaction,
  task: SolveTask,
): Promise<boolean> {
  const { id, ...values } = toTaskRow(task);
  const [before] = await selectRows(within, "solve_tasks", { id });
  const queued = (state: string | undefined) => state === "waiting" || state === "running";
  const kept = queued(before?.state) ? (before?.work_id ?? null) : null;
  const work = task.state === "waiting" && kept === null ? [workOfTask(task, newWorkId())] : [];
  const workId = work[0]?.id ?? (queued(task.state) ? kept : null);
  const isThere = (await updateRows(within, "solve_tasks", { id }, { ...values, work_id: workId })) > 0;
  if (isThere) await queue.add(work, within);
  return isThere;
}

export const EVENT_KIND = "forge-events";

const eventQueue = (forge: ForgeKind) => `${EVENT_KIND}.${forge}`;

export function createForgeEvents({ db, queue, newWorkId }: SolveClaimDeps): ForgeEvents {
  const workOf = ({ deliveryId, item }: IntakeEvent): NewWork => ({
    id: newWorkId(),
    queue: eventQueue(item.forge),
    key: hashHex("sha256", itemUrl(item)),
    group: EVENT_KIND,
    ref: deliveryId,
    light: false,
  });

  async function read(work: Work, within: StoreTransaction): Promise<ClaimedEvent | null> {
    const [row] = await selectRows(within, "forge_events", { id: work.ref, work_id: work.id });
    if (row === undefined) return null;
    return { event: JSON.parse(row.body) as IntakeEvent, receivedAt: new Date(row.received_at), work };
  }

  return {
    keep: (event, at) =>
      db.transaction().execute(async (within) => {
        const { deliveryId: id } = event;
        if ((await selectRows(within, "forge_deliveries", { id })).length > 0) return false;
        const work = workOf(event);
        const body = storable(JSON.stringify(event));
        const row = { id, received_at: at.toISOString(), body, sighted: "[]", work_id: work.id };
        const isNew = (await upsertRow(within, "forge_events", row, ["id"], [])) === 1;
        if (isNew) await queue.add([work], within);
        return isNew;
      }),
    claim: (forge) => claimLive(queue, { queue: eventQueue(forge) }, read),
    firstSight: (eventId, deliveryId, at) =>
      db.transaction().execute(async (within) => {
        const isFirst = await noteDelivery(within, deliveryId, at);
        const [row] = await selectRows(within, "forge_events", { id: eventId });
        const sighted = JSON.parse(row?.sighted ?? "[]") as string[];
        if (!isFirst) return sighted.includes(deliveryId);
        const set = { sighted: JSON.stringify([...sighted, deliveryId]) };
        await updateRows(within, "forge_events", { id: eventId }, set);
        return true;
      }),
    finish: (work) =>
      queue.finish(work, {
        write: (within) => deleteRows(within, "forge_events", { id: work.ref, work_id: work.id }),
      }),
    handBack: (work) => queue.handBack(work, { begun: false }),
    async adopt() {
      const left = await selectRows(db, "forge_events", { work_id: null }, sql`order by received_at`);
      for (const { body } of left)
        await db.transaction().execute(async (within) => {
          const event = JSON.parse(body) as IntakeEvent;
          const work = workOf(event);
          const free = { id: event.deliveryId, work_id: null };
          if ((await updateRows(within, "forge_events", free, { work_id: work.id })) > 0)
            await queue.add([work], within);
        });
    },
  };
}
