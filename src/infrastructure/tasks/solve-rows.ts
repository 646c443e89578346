import type { Kysely } from "kysely";
import type { SolveReader, SolveTask } from "../../application/ports/tasks.ts";
import type { NewWork } from "../../application/ports/work-queue.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import type { TaskStep } from "../../domain/tasks/step.ts";
import { hashHex } from "../platform/hash.ts";
import type { Database } from "../store/schema.ts";
import type { SolveRow } from "../store/solve-tables.ts";
import { storable } from "../store/storable.ts";

/** The kind of all queues of tasks. */
export const TASK_KIND = "tasks";

export const LIVE_STATES = ["waiting", "running", "paused"];

/** Tasks as they are read, by whoever looks. */
export function createSolveReader(db: Kysely<Database>): SolveReader {
  return {
    async find(id) {
      return toTask(
        await db.selectFrom("solve_tasks").select("body").where("id", "=", id).executeTakeFirst(),
      );
    },
    async list(limit) {
      const rows = await db
        .selectFrom("solve_tasks")
        .select("body")
        .orderBy("created_at", "desc")
        .limit(limit)
        .execute();
      return rows.flatMap((row) => toTask(row) ?? []);
    },
    async steps(id) {
      const query = db.selectFrom("task_steps").select("body").where("task_id", "=", id);
      const rows = await query.orderBy("position").execute();
      return rows.map(({ body }) => JSON.parse(body) as TaskStep);
    },
  };
}

export type TaskValues = Omit<SolveRow, "work_id" | "ordered">;

export function toTaskRow(task: SolveTask): TaskValues {
  return {
    id: task.id,
    item: itemUrl(task.item),
    state: task.state,
    created_at: task.createdAt,
    needs: needsOf(task),
    body: storable(JSON.stringify(task)),
  };
}

export function toTask(row: { readonly body: string } | undefined): SolveTask | null {
  return row === undefined ? null : (JSON.parse(row.body) as SolveTask);
}

/** One item is worked on one at a time; each set of needs is a queue. */
export function workOfTask(task: SolveTask, id: string): NewWork {
  const key = hashHex("sha256", itemUrl(task.item));
  return { id, queue: taskQueue(needsOf(task)), key, group: "tasks", ref: task.id, light: false };
}

export function taskQueue(needs: string): string {
  return `${TASK_KIND}.${hashHex("sha256", needs).slice(0, 16)}`;
}

function needsOf({ item, needs = [] }: SolveTask): string {
  return [`forge:${item.forge}`, ...new Set(needs)].sort().join(",");
}
