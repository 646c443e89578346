import type { Kysely } from "kysely";
import type { ClaimedTask, SolveStore, SolveTask } from "../../application/ports/tasks.ts";
import type { Work, WorkQueue } from "../../application/ports/work-queue.ts";
import type { StoreTransaction } from "../serve/work-engine.ts";
import type { Database } from "../store/schema.ts";
import { LIVE_STATES, taskQueue, toTask, toTaskRow, workOfTask } from "./solve-rows.ts";

type Claims = Pick<SolveStore, "claim" | "claimOwn" | "finish" | "handBack" | "halt" | "adopt">;

export interface SolveClaimDeps {
  readonly db: Kysely<Database>;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

/** Tasks as work of the queue. */
export function createSolveClaims({ db, queue, newWorkId }: SolveClaimDeps): Claims {
  /** Null for work that nobody wants any more. */
  async function read(work: Work, within: StoreTransaction): Promise<SolveTask | null> {
    const row = await within
      .selectFrom("solve_tasks")
      .select(["body", "state", "work_id", "item"])
      .where("id", "=", work.ref)
      .executeTakeFirst();
    const task = toTask(row);
    if (row === undefined || task === null) return null;
    if (row.work_id === work.id) return row.state === "waiting" || row.state === "running" ? task : null;
    // Given up, and tried again by somebody who looked at it.
    if (row.state !== "failed" || row.work_id === null) return null;
    const live = within.selectFrom("solve_tasks").select("id").where("item", "=", row.item);
    if ((await live.where("state", "in", LIVE_STATES).executeTakeFirst()) !== undefined) return null;
    const again = { ...task, state: "waiting" } as const;
    const { id, ...values } = toTaskRow(again);
    await within
      .updateTable("solve_tasks")
      .set({ ...values, work_id: work.id })
      .where("id", "=", id)
      .execute();
    return again;
  }

  async function claimIn(request: {
    readonly queue: string;
    readonly id?: string;
  }): Promise<ClaimedTask | null> {
    for (;;) {
      const claimed = await queue.claim(request, read);
      if (claimed === null) return null;
      if (claimed.read !== null) return { task: claimed.read, work: claimed.work };
      await queue.finish(claimed.work, {});
    }
  }

  /** Sets the work of a task that has none, unless another process was faster. */
  async function give(
    within: StoreTransaction,
    task: SolveTask,
    workId: string,
    before: string | null,
  ): Promise<boolean> {
    const { numUpdatedRows } = await within
      .updateTable("solve_tasks")
      .set({ work_id: workId, needs: toTaskRow(task).needs })
      .where("id", "=", task.id)
      .where("work_id", before === null ? "is" : "=", before)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async function claimOwn(id: string): Promise<ClaimedTask | null> {
    const row = await db
      .selectFrom("solve_tasks")
      .select(["body", "state", "work_id"])
      .where("id", "=", id)
      .executeTakeFirst();
    const task = toTask(row);
    if (row === undefined || task === null) return null;
    const { queue: name } = workOfTask(task, "");
    const queued = row.work_id !== null && (row.state === "waiting" || row.state === "running");
    if (queued) return claimIn({ queue: name, id: row.work_id as string });
    const begun = await queue.begin(workOfTask(task, newWorkId()), (work, within) =>
      give(within, task, work.id, row.work_id),
    );
    if (begun === null) return null;
    if (begun.read) return { task, work: begun.work };
    await queue.finish(begun.work, {});
    return null;
  }

  return {
    async claim(has) {
      const waiting = await db
        .selectFrom("solve_tasks")
        .select(({ fn }) => ["needs", fn.min("created_at").as("since")])
        .where("work_id", "is not", null)
        .groupBy("needs")
        .orderBy("since")
        .execute();
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
          await within.updateTable("solve_tasks").set(values).where("id", "=", id).execute();
          await forgetWork(within, claimed.work);
        },
      });
      return ended === "done";
    },
    async adopt() {
      const rows = await db
        .selectFrom("solve_tasks")
        .select("body")
        .where("state", "in", ["waiting", "running"])
        .where("work_id", "is", null)
        .orderBy("created_at")
        .execute();
      for (const task of rows.flatMap((row) => toTask(row) ?? []))
        await db.transaction().execute(async (within) => {
          const work = workOfTask(task, newWorkId());
          if (await give(within, task, work.id, null)) await queue.add([work], within);
        });
    },
  };
}

async function forgetWork(within: StoreTransaction, { id, ref }: Work): Promise<void> {
  await within
    .updateTable("solve_tasks")
    .set({ work_id: null })
    .where("id", "=", ref)
    .where("work_id", "=", id)
    .execute();
}
