import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Kysely, sql } from "kysely";
import { readStoreAway } from "../../../src/domain/store/store-trouble.ts";
import { openSqlite, tryWrite } from "../../../src/infrastructure/store/open-store.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";

let folder = "";
let file = "";
let db: Kysely<Database>;
/** Time passes only in pauses, by as much as is asked. */
const time = { ms: 0, pauses: 0, onPause: async () => {} };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-away-"));
  file = join(folder, "picoclaw.db");
  Object.assign(time, { ms: 0, pauses: 0, onPause: async () => {} });
  db = openSqlite(file, {
    now: () => time.ms,
    pause: async (ms) => {
      time.ms += ms;
      time.pauses += 1;
      await time.onPause();
    },
  });
  await migrate(db, () => new Date(0));
});
afterEach(async () => {
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const write = () => tryWrite(db, new Date(time.ms)).then(() => "written", readStoreAway);
const read = () => db.selectFrom("forge_deliveries").select("id").execute();
const writeTogether = () =>
  db
    .transaction()
    .execute((within) => tryWrite(within, new Date(time.ms)))
    .then(() => "written", readStoreAway);

describe("another process holds the write lock", () => {
  let other: DatabaseSync;
  beforeEach(() => {
    other = new DatabaseSync(file);
    other.exec("begin immediate");
  });
  afterEach(() => other.close());

  test("a write waits without stopping the process, others read meanwhile, and it succeeds when the lock is released", async () => {
    const seen: number[] = [];
    time.onPause = async () => {
      seen.push((await read()).length);
      if (time.pauses >= 3 && other.isTransaction) other.exec("rollback");
    };
    expect(await Promise.all([write(), writeTogether()])).toEqual(["written", "written"]);
    expect(seen.slice(0, 3)).toEqual([0, 0, 0]);
    // SQLite does not wait by itself, which would stop the event loop.
    expect((await sql`pragma busy_timeout`.execute(db)).rows).toEqual([{ timeout: 0 }]);
    expect(await read()).toEqual([{ id: "readiness" }]);
  });

  test("after ten seconds the store is away; later writes do not wait as long again, and work once the lock is gone", async () => {
    expect(await write()).toBe("locked");
    const first = time.ms;
    expect(first).toBeWithin(10_000, 10_200);
    for (const late of [write, writeTogether]) expect(await late()).toBe("locked");
    expect(time.ms - first).toBeLessThan(1_000);
    other.exec("rollback");
    expect(await write()).toBe("written");
    other.exec("begin immediate");
    const again = time.ms;
    expect(await write()).toBe("locked");
    expect(time.ms - again).toBeGreaterThanOrEqual(10_000);
  });
});

test("a transaction is whole: a statement of another caller does not get into it", async () => {
  const order: string[] = [];
  const one = db.transaction().execute(async (within) => {
    await tryWrite(within, new Date(1));
    order.push("first");
    await tryWrite(within, new Date(2));
    order.push("second");
    throw new Error("taken back");
  });
  const other = read().then((rows) => order.push(`read ${rows.length}`));
  await expect(one).rejects.toThrow("taken back");
  await other;
  expect(order).toEqual(["first", "second", "read 0"]);
});

describe("a file of the store that is no longer the opened one takes no writes", () => {
  const away = (name: string) => renameSync(join(folder, name), join(folder, `${name}.away`));
  const back = (name: string) => renameSync(join(folder, `${name}.away`), join(folder, name));
  for (const name of ["picoclaw.db", "picoclaw.db-wal"])
    test(`${name} was removed or replaced`, async () => {
      expect(await write()).toBe("written");
      away(name);
      for (const late of [write, writeTogether]) expect(await late()).toBe("gone");
      copyFileSync(join(folder, `${name}.away`), join(folder, name));
      expect(await write()).toBe("gone");
      back(name);
      expect(await write()).toBe("written");
      expect(time.pauses).toBe(0);
    });

  /** What a process that starts now would find, as after a kill. */
  const kept = () => {
    const [copy, log] = [join(folder, "copy.db"), join(folder, "copy.db-wal")];
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, log);
    const late = new DatabaseSync(copy);
    try {
      return late.prepare("select count(*) as n from forge_deliveries where id like 's%'").get()?.n;
    } catch {
      return "damaged";
    } finally {
      late.close();
    }
  };
  const store = (n: number, seen_at = "now", within: Kysely<Database> = db) =>
    within
      .insertInto("forge_deliveries")
      .values({ id: `s${n}`, seen_at })
      .execute()
      .then(() => "written", readStoreAway);

  test("its log is cut anywhere: acknowledged writes are there after a kill", async () => {
    const sizes = [0, 1, 31, 32, 100, 0.25, 0.5, 0.75, 0.999];
    for (const [n, cut] of sizes.entries()) {
      const size = statSync(`${file}-wal`).size;
      const log = readFileSync(`${file}-wal`);
      truncateSync(`${file}-wal`, cut < 1 ? Math.floor(size * cut) : cut);
      expect([cut, await store(n), await writeTogether(), await write()]).toEqual([
        cut,
        "gone",
        "gone",
        "gone",
      ]);
      writeFileSync(`${file}-wal`, log, { flag: "r+" });
      expect(await store(n)).toBe("written");
      expect(kept()).toBe(n + 1);
    }
    // A write that is larger than SQLite's page cache could fill the hole before it is committed.
    truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 100);
    const large = db.transaction().execute((within) => store(99, "x".repeat(4_000_000), within));
    expect(await large.catch(readStoreAway)).toBe("gone");
    expect([await store(99), await write()]).toEqual(["gone", "gone"]);
  });

  test("its log is cut inside a transaction, just before it is committed", async () => {
    const cut = db
      .transaction()
      .execute(async (within) => {
        await tryWrite(within, new Date(1));
        truncateSync(`${file}-wal`, Math.floor(statSync(`${file}-wal`).size / 2));
      })
      .then(() => "written", readStoreAway);
    expect(await cut).toBe("gone");
    expect(await write()).toBe("gone");
  });

  test("it is cut in half", async () => {
    await sql`pragma wal_checkpoint(truncate)`.execute(db);
    expect(await write()).toBe("written");
    truncateSync(file, Math.floor(statSync(file).size / 2));
    for (const late of [write, writeTogether]) expect(await late()).toBe("gone");
  });

  test("a log that another process carried over and emptied is not lost", async () => {
    const other = new DatabaseSync(file);
    for (let n = 0; n < 5; n++) {
      expect(await store(n)).toBe("written");
      other.exec("pragma wal_checkpoint(truncate)");
      expect(await write()).toBe("written");
    }
    other.exec("vacuum");
    other.exec("pragma wal_checkpoint(truncate)");
    other.close();
    expect(await store(9)).toBe("written");
    expect(kept()).toBe(6);
  });

  test("emptied; the error says which file and how to repair it", async () => {
    expect(await write()).toBe("written");
    truncateSync(file, 0);
    expect(await write()).toBe("gone");
    const said = await tryWrite(db, new Date(1)).catch(String);
    expect(said).toContain(`${file} was deleted, replaced, emptied or truncated`);
    expect(said).toContain("restore a backup");
  });
});
