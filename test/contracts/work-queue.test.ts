import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import type { NewWork, Work } from "../../src/application/ports/serve.ts";
import { createSortedIds } from "../../src/infrastructure/platform/hash.ts";
import { timers } from "../../src/infrastructure/platform/timers.ts";
import { createChatTurns } from "../../src/infrastructure/serve/chat-turns.ts";
import { createPgBossEngine } from "../../src/infrastructure/serve/pg-boss-engine.ts";
import type { WorkEngine } from "../../src/infrastructure/serve/work-engine.ts";
import { workKeyOfChat, workspaceQueues } from "../../src/infrastructure/serve/work-places.ts";
import {
  createSqliteEngine,
  createWorkQueue,
  installQueue,
  openWorkQueue,
} from "../../src/infrastructure/serve/work-queue.ts";
import { openSqlite } from "../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import { type Database, migrate, type StoreTransaction } from "../../src/infrastructure/store/schema.ts";
import { openLentPair } from "../infrastructure/store/lent-kit.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { describeWorkQueue, type QueueKit } from "./work-queue.contract.ts";

const newId = createSortedIds(timers.now);

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
      void (await sql`insert into marks (text) values (${text})`.execute(within as StoreTransaction)),
    marks: async () =>
      (await sql<{ text: string }>`select text from marks`.execute(db)).rows.map(({ text }) => text),
  };
}

/** Turns of chats are claims as well. */
function testTurns(open: () => { readonly db: Kysely<Database>; readonly kit: QueueKit }): void {
  const turnsOf = (db: Kysely<Database>, process: string, beatsElsewhere: boolean) =>
    createChatTurns({ db, workspace: "/w", process, isGone: () => false, newId, beatsElsewhere });
  const { messages: queue } = workspaceQueues("/w");
  const messageOf = (chatKey: string): NewWork => {
    const key = workKeyOfChat("/w", chatKey);
    return { id: newId(), queue, key, group: "g", ref: "msg_1", light: false };
  };

  test("the turns of a dead process end with its claims, those of others stay", async () => {
    const { db, kit } = open();
    const [dead, alive] = [await kit.open("host:turn-dead"), await kit.open("host:turn-alive")];
    const work = { id: newId(), queue: "turns", key: "k", group: "g", ref: "r", light: false };
    await dead.add([work]);
    await dead.beat();
    expect(await dead.claim({ queue: "turns" }, async () => null)).not.toBeNull();
    const begin = async (process: string) => {
      const turns = turnsOf(db, process, true);
      const claim = turns.name(`cli:${process}`);
      expect(await turns.begin(claim)).toBe(true);
      return () => turns.look(claim);
    };
    const looks = [await begin("host:turn-dead"), await begin("host:turn-alive")];
    await kit.silence("host:turn-dead", 20_000);
    await alive.beat();
    expect(await Promise.all(looks.map((look) => look()))).toMatchObject([{ held: false }, { held: true }]);
    const claimed = await alive.claim({ queue: "turns" }, async () => null);
    expect(claimed?.work.id).toBe(work.id);
    await alive.finish(claimed?.work as Work, {});
    for (const each of [dead, alive]) await each.close();
  });

  test("a server never claims what a terminal began, and beats without taking it for lost work", async () => {
    const { db, kit } = open();
    const server = await kit.open("host:server");
    const terminal = turnsOf(db, "host:terminal", false);
    const begun = terminal.name("cli:own");
    expect(await terminal.begin(begun)).toBe(true);
    const here = turnsOf(db, "host:server", true);
    const cut = here.name("cli:cut");
    expect(await here.begin(cut)).toBe(true);
    await sql`update work_claims set claimed_at = claimed_at - 11000`.execute(db);
    expect(await server.claim({ queue }, async () => null)).toBeNull();
    expect(await server.beat()).toEqual([]);
    expect(await Promise.all([terminal.look(begun), here.look(cut)])).toMatchObject([
      { held: true },
      { held: true },
    ]);
    for (const [turns, claim] of [
      [terminal, begun],
      [here, cut],
    ] as const)
      await turns.end(claim);
    await server.close();
  });

  test("the claim of a message is its chat's turn, from its begin to its end", async () => {
    const { db, kit } = open();
    const server = await kit.open("host:answers");
    const [here, terminal] = [turnsOf(db, "host:answers", true), turnsOf(db, "host:waits", false)];
    await server.add([messageOf("web:c")]);
    const claimed = await server.claim({ queue }, async () => null);
    const work = claimed?.work as Work;
    const message = here.name("web:c", work);
    expect(message).toMatchObject({ id: work.id, isOwn: false });
    // A claimed message that does not ask for the turn blocks no other.
    const first = terminal.name("web:c");
    expect(await terminal.begin(first)).toBe(true);
    expect(await here.begin(message)).toBe(false);
    await terminal.end(first);
    expect(await here.take(message)).toEqual({ taken: true, ahead: 0 });
    const next = terminal.name("web:c");
    expect(await terminal.begin(next)).toBe(false);
    await here.end(message);
    expect(await terminal.take(next)).toEqual({ taken: false, ahead: 1 });
    expect(await server.finish(work, {})).toBe("done");
    expect(await terminal.take(next)).toEqual({ taken: true, ahead: 0 });
    await terminal.end(next);
    await server.close();
  });

  test("a terminal takes the turn of a dead server's message, which waits for another server", async () => {
    const { db, kit } = open();
    const [dead, next] = [await kit.open("host:dies"), await kit.open("host:follows")];
    const here = turnsOf(db, "host:dies", true);
    await dead.add([messageOf("web:d")]);
    const work = (await dead.claim({ queue }, async () => null))?.work as Work;
    const message = here.name("web:d", work);
    expect(await here.begin(message)).toBe(true);
    const terminal = turnsOf(db, "host:talks", false);
    const mine = terminal.name("web:d");
    expect(await terminal.begin(mine)).toBe(false);
    await kit.silence("host:dies", 20_000);
    expect(await terminal.take(mine)).toEqual({ taken: true, ahead: 0 });
    expect(await here.look(message)).toEqual({ held: false, stop: false });
    await next.beat();
    const again = (await next.claim({ queue }, async () => null))?.work as Work;
    expect(again).toMatchObject({ id: work.id, attempt: 2 });
    const there = turnsOf(db, "host:follows", true);
    expect(await there.begin(there.name("web:d", again))).toBe(false);
    await terminal.end(mine);
    expect(await there.take(there.name("web:d", again))).toEqual({ taken: true, ahead: 0 });
    expect(await dead.finish(work, {})).toBe("lost");
    expect(await next.finish(again, {})).toBe("done");
    for (const each of [dead, next]) await each.close();
  });
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
  test("a listener to a queue or a kind is not called for the others, and a caller that waits for an end is", async () => {
    // Without the look each second, only notifications are heard.
    const still = { ...timers, after: () => () => {} };
    const queue = createWorkQueue({
      db,
      engine: createSqliteEngine(),
      owner: "listens",
      isGone: () => false,
      timers: still,
      newId,
    });
    const heard: string[] = [];
    const work = (name: string) => ({
      id: newId(),
      queue: name,
      key: "k",
      group: "g",
      ref: "r",
      light: false,
    });
    queue.onWork(() => heard.push("one"), { queue: "listened.one" });
    queue.onWork(() => heard.push("two"), { queue: "listened.two" });
    queue.onWork(() => heard.push("kind"), { kind: "listened" });
    queue.onWork(() => heard.push("ends"), { queue: "ends" });
    await queue.add([work("listened.one")]);
    expect(heard.splice(0)).toEqual(["one", "kind"]);
    const claimed = await queue.claim({ queue: "listened.one" }, async () => null);
    await queue.finish(claimed?.work as Work, { wake: "ends" });
    expect(heard.splice(0)).toEqual(["one", "kind", "ends"]);
    await queue.add([work("elsewhere.one")]);
    expect(heard).toEqual([]);
    await queue.close();
  });
  testTurns(() => ({ db, kit: kitOver(db, async () => createSqliteEngine()) }));
  describeWorkQueue("SQLite", () => kitOver(db, async () => createSqliteEngine()));
});

describe("sqlite, lent to another process", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-queue-"));
  const own = openSqlite(join(folder, "store.db"));
  const { lent } = openLentPair(own);
  beforeAll(async () => {
    await migrate(own, timers.now);
    await sql`create table marks (text text)`.execute(own);
  });
  afterAll(async () => {
    await own.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  describeWorkQueue("lent SQLite", () => kitOver(lent, async () => createSqliteEngine()));
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
  }, 300_000);
  afterAll(async () => {
    await db?.destroy();
    server?.stop();
  });
  test("a claim reads a few rows, however many wait", async () => {
    const engine = await createPgBossEngine(url, () => {});
    const queue = await kitOver(db, async () => engine).open("host:many");
    const work = (n: number): NewWork => ({
      id: newId(),
      queue: "many",
      key: `c${n}`,
      group: `u${n}`,
      ref: `m${n}`,
      light: false,
    });
    await queue.add(Array.from({ length: 2_000 }, (_, n) => work(n)));
    await sql`analyze picoclaw_queue.job_common`.execute(db);
    /** Rows that the server has not summed up yet are counted as well. */
    const counted = async (within: StoreTransaction) => {
      const { rows } = await sql<{ read: string }>`select seq_tup_read + idx_tup_fetch as read
        from pg_stat_xact_user_tables where relname = 'job_common'`.execute(within);
      return Number(rows[0]?.read);
    };
    const read = await db.transaction().execute(async (within) => {
      const before = await counted(within);
      expect((await engine.fetch(within, { queue: "many" }))?.ref).toBe("m0");
      return (await counted(within)) - before;
    });
    expect(read).toBeLessThan(50);
    await queue.close();
  });
  test("another process hears which queue it is about", async () => {
    const [here, elsewhere] = [
      await createPgBossEngine(url, () => {}),
      await createPgBossEngine(url, () => {}),
    ];
    const heard: (string | undefined)[] = [];
    const [listening, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const unlisten = here.listen((queue) => {
      heard.push(queue);
      if (queue === undefined) listening.resolve();
      if (queue === "heard.end") ended.resolve();
    });
    await listening.promise;
    const work = { id: newId(), queue: "heard.one", key: "k", group: "g", ref: "r", light: false };
    await db.transaction().execute((within) => elsewhere.insert(within, [work]));
    await db.transaction().execute((within) => elsewhere.notify(within, "heard.end"));
    await ended.promise;
    expect(heard).toEqual([undefined, "heard.one", "heard.end"]);
    unlisten();
    await here.close();
    await elsewhere.close();
  }, 300_000);
  test("a queue that no process here has claimed from is found by its kind, and reported once", async () => {
    const [here, elsewhere] = [
      await createPgBossEngine(url, () => {}),
      await createPgBossEngine(url, () => {}),
    ];
    const add = (queue: string) =>
      db
        .transaction()
        .execute((within) =>
          elsewhere.insert(within, [{ id: newId(), queue, key: "k", group: "g", ref: "r", light: false }]),
        );
    await add("kind.one");
    await add("kindless.one");
    expect(await here.waits(db, [])).toBe(false);
    expect(await here.waits(db, ["kind"])).toBe(true);
    expect(await here.waits(db, ["kind"])).toBe(false);
    await add("kind.two");
    expect(await here.waits(db, ["kind"])).toBe(true);
    const taken = await db.transaction().execute((within) => here.fetch(within, { queue: "kind.two" }));
    expect(taken?.ref).toBe("r");
    expect(await here.waits(db, ["kind"])).toBe(false);
    await here.close();
    await elsewhere.close();
  }, 300_000);
  test("once it is installed, a role that may create nothing works with it", async () => {
    const owner = server.newDatabase();
    const admin = openPostgres(owner);
    await migrate(admin, timers.now);
    await installQueue(owner);
    await sql`create role plain login`.execute(admin);
    await sql`revoke create on schema public from public`.execute(admin);
    await sql`grant usage on schema public, picoclaw_queue to plain`.execute(admin);
    for (const schema of [sql.id("public"), sql.id("picoclaw_queue")])
      await sql`grant select, insert, update, delete on all tables in schema ${schema} to plain`.execute(
        admin,
      );
    const databaseUrl = owner.replace("picoclaw@", "plain@");
    const plain = openPostgres(databaseUrl);
    const common = { owner: "plain", isGone: () => false, timers, onTrouble: () => {} };
    const { queue, newWorkId } = await openWorkQueue({ db: plain, databaseUrl, ...common });
    const work = { id: newWorkId(), queue: "plain", key: "k", group: "g", ref: "1", light: false };
    await queue.add([work]);
    await queue.beat();
    const claimed = await queue.claim({ queue: "plain" }, async () => null);
    expect(claimed?.work.ref).toBe("1");
    expect(await queue.finish(claimed?.work as Work, {})).toBe("done");
    await queue.close();
    await plain.destroy();
    await admin.destroy();
  }, 300_000);

  testTurns(() => ({ db, kit: kitOver(db, () => createPgBossEngine(url, () => {})) }));
  describeWorkQueue("pg-boss", () =>
    kitOver(db, () =>
      createPgBossEngine(url, (error) => {
        throw error;
      }),
    ),
  );
});
