import { afterAll, beforeAll, describe } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { createPgBossEngine } from "../../src/infrastructure/inbox/queue/pg-boss-engine.ts";
import { createSqliteEngine } from "../../src/infrastructure/inbox/queue/sqlite-engine.ts";
import type { Within, WorkEngine } from "../../src/infrastructure/inbox/queue/work-engine.ts";
import { createWorkIds } from "../../src/infrastructure/inbox/queue/work-ids.ts";
import { createWorkQueue } from "../../src/infrastructure/inbox/queue/work-queue.ts";
import { timers } from "../../src/infrastructure/runtime/timers.ts";
import { migrate } from "../../src/infrastructure/store/migrate.ts";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../src/infrastructure/store/schema.ts";
import { openSqlite } from "../../src/infrastructure/store/sqlite.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { describeWorkQueue, type QueueKit } from "./work-queue.contract.ts";

const newId = createWorkIds(timers.now, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));

function kitOver(db: Kysely<Database>, newEngine: () => Promise<WorkEngine>): QueueKit {
  return {
    newId,
    async open(owner, gone = []) {
      const engine = await newEngine();
      return createWorkQueue({ db, engine, owner, isGone: (name) => gone.includes(name), timers, newId });
    },
    async silence(owner, ms) {
      await sql`update work_owners set beat_at = beat_at - ${ms} where owner = ${owner}`.execute(db);
      await sql`update work_claims set claimed_at = claimed_at - ${ms} where owner = ${owner}`.execute(db);
    },
    mark: (text) => async (within) =>
      void (await sql`insert into marks (text) values (${text})`.execute(within as Within)),
    marks: async () =>
      (await sql<{ text: string }>`select text from marks`.execute(db)).rows.map(({ text }) => text),
  };
}

async function prepare(db: Kysely<Database>): Promise<void> {
  await migrate(db, timers.now);
  await sql`create table marks (text text not null)`.execute(db);
}

describe("sqlite", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-queue-"));
  const db = openSqlite(join(folder, "picoclaw.db"));
  beforeAll(() => prepare(db));
  afterAll(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  describeWorkQueue("SQLite", () => kitOver(db, async () => createSqliteEngine()));
});

describe.if(requirePart("postgres"))("postgres", () => {
  let server: PostgresServer;
  let db: Kysely<Database>;
  let url: string;
  beforeAll(async () => {
    server = startPostgres();
    url = server.newDatabase();
    db = openPostgres(url);
    await prepare(db);
  }, 60_000);
  afterAll(async () => {
    await db?.destroy();
    server?.stop();
  });
  describeWorkQueue("pg-boss", () =>
    kitOver(db, () =>
      createPgBossEngine(url, (error) => {
        throw error;
      }),
    ),
  );
});
