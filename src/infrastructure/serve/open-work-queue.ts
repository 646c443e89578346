import type { Kysely } from "kysely";
import type { Timers } from "../../application/ports/timers.ts";
import type { WorkQueue } from "../../application/ports/work-queue.ts";
import type { Database } from "../store/schema.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { createWorkIds } from "./work-ids.ts";
import { createWorkQueue } from "./work-queue.ts";

export interface OpenQueueDeps {
  readonly db: Kysely<Database>;
  /** As `database_url`, its reference resolved; the embedded store where there is none. */
  readonly databaseUrl: string | undefined;
  /** This process, and how to tell that another of this machine is gone. */
  readonly owner: string;
  readonly isGone: (owner: string) => boolean;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export interface OpenedQueue {
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

/** Makes what the queue needs of its own in Postgres, for whoever may; a server then needs no right to create it. */
export async function installQueue(databaseUrl: string): Promise<void> {
  const { createPgBossEngine } = await import("./pg-boss-engine.ts");
  const engine = await createPgBossEngine(databaseUrl, () => {});
  await engine.close();
}

/** The queue of this installation, over its opened and migrated store. What Postgres needs is loaded only there. */
export async function openWorkQueue(parts: OpenQueueDeps): Promise<OpenedQueue> {
  const { databaseUrl, timers, onTrouble } = parts;
  const engine =
    databaseUrl === undefined
      ? createSqliteEngine()
      : await (await import("./pg-boss-engine.ts")).createPgBossEngine(databaseUrl, onTrouble);
  const newWorkId = createWorkIds(timers.now, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  return { queue: createWorkQueue({ ...parts, engine, newId: newWorkId }), newWorkId };
}
