import type { Kysely } from "kysely";
import type { WorkQueue } from "../../../src/application/ports/serve.ts";
import type { ForgeEvents, SolveStore } from "../../../src/application/ports/tasks.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { openWorkQueue } from "../../../src/infrastructure/serve/work-queue.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";
import { createForgeEvents, createSolveStore } from "../../../src/infrastructure/tasks/solve-store.ts";

export interface TaskProcess {
  readonly db: Kysely<Database>;
  readonly store: SolveStore;
  readonly events: ForgeEvents;
  readonly queue: WorkQueue;
}

/** The tasks in a store, as one process sees them; `gone` are those that this machine knows to be dead. */
export async function openTasks(
  at: string | Kysely<Database>,
  {
    owner = "test",
    gone = [],
    databaseUrl,
  }: {
    readonly owner?: string;
    readonly gone?: readonly string[];
    readonly databaseUrl?: string | undefined;
  } = {},
): Promise<TaskProcess> {
  const db = typeof at === "string" ? openSqlite(at) : at;
  await migrate(db, timers.now);
  const { queue, newWorkId } = await openWorkQueue({
    db,
    databaseUrl,
    owner,
    isGone: (name) => gone.includes(name),
    timers,
    onTrouble: (error) => {
      throw error;
    },
  });
  const events = createForgeEvents({ db, queue, newWorkId });
  return { db, queue, events, store: await createSolveStore({ db, now: timers.now, queue, newWorkId }) };
}
