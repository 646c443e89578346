import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Kysely, PostgresDialect, sql } from "kysely";
import { Pool } from "pg";
import { readStoreAway } from "../../../src/domain/store/store-trouble.ts";
import { openPostgres, withPreparedStatements } from "../../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { startPooler } from "../../fakes/pooler.ts";
import { requirePart } from "../../require.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const rowsOf = async (db: Kysely<Database>) =>
  (await sql<{ a: number }>`select * from t order by a`.execute(db)).rows;
const insert = (db: Kysely<Database>, a: number) => sql`insert into t (a) values (${a})`.execute(db);
const namedInserts = async (db: Kysely<Database>) =>
  (await sql`select name from pg_prepared_statements where statement like 'insert into t%'`.execute(db)).rows
    .length;

describe.if(requirePart("postgres"))("statements on Postgres", () => {
  let server: PostgresServer;
  let db: Kysely<Database>;
  let url = "";

  beforeAll(() => {
    server = startPostgres();
  }, 300_000);
  afterAll(() => server?.stop());

  const opened = async (at: string, act: (db: Kysely<Database>) => Promise<void>) => {
    url = at;
    db = openPostgres(at);
    try {
      await sql`create table t (a integer primary key)`.execute(db);
      await act(db);
    } finally {
      await db.destroy();
    }
  };

  test("a prepared one is used by its name; a column that was added since is seen", () =>
    opened(server.newDatabase(), async () => {
      await insert(db, 1);
      await insert(db, 2);
      expect(await namedInserts(db)).toBe(1);
      expect(await rowsOf(db)).toEqual([{ a: 1 }, { a: 2 }]);
      await sql`alter table t add column b integer default 7`.execute(db);
      await insert(db, 3);
      expect(await rowsOf(db)).toContainEqual({ a: 3, b: 7 } as never);
    }));

  test("a transaction whose first statement fails leaves nothing, and its connection stays usable", () =>
    opened(server.newDatabase(), async () => {
      await insert(db, 1);
      const failing = db.transaction().execute(async (within) => {
        await sql`insert into t (a) values (${1})`.execute(within);
      });
      await expect(failing).rejects.toThrow("duplicate key");
      const late = db.transaction().execute(async (within) => {
        await sql`insert into t (a) values (${2})`.execute(within);
        throw new Error("late");
      });
      await expect(late).rejects.toThrow("late");
      await db.transaction().execute((within) => sql`insert into t (a) values (${3})`.execute(within));
      expect(await rowsOf(db)).toEqual([{ a: 1 }, { a: 3 }]);
    }));

  test("once the server is writable again, no connection of its read-only time is used", () =>
    opened(server.newDatabase(), async () => {
      const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
      const setReadOnly = (value: "on" | "off") =>
        sql`alter database ${sql.id(rows[0]?.name ?? "")} set default_transaction_read_only = ${sql.raw(value)}`;
      const readOnly = await setReadOnly("on")
        .execute(db)
        .then(() => openPostgres(url));
      try {
        // Three connections, of which one meets the refusal.
        const three = [1, 2, 3].map(() => sql`select pg_sleep(0.2)`.execute(readOnly));
        await Promise.all(three);
        expect(await insert(readOnly, 1).catch(readStoreAway)).toBe("read-only");
        await setReadOnly("off").execute(db);
        await Promise.all([1, 2, 3].map((a) => insert(readOnly, a)));
        expect(await rowsOf(db)).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
      } finally {
        await readOnly.destroy();
      }
    }));

  test("a plan that was made for a few rows is not kept when there are many", async () => {
    const time = { now: 0 };
    const pool = new Pool({ connectionString: server.newDatabase(), max: 1, pipeline: true });
    const few = new Kysely<Database>({
      dialect: new PostgresDialect({ pool: withPreparedStatements(pool, () => time.now) }),
    });
    try {
      await sql`create table t (a integer primary key, b integer)`.execute(few);
      await sql`alter table t set (autovacuum_enabled = false)`.execute(few);
      await sql`insert into t (a) values (0)`.execute(few);
      await sql`analyze t`.execute(few);
      const update = (within: Kysely<Database>) => sql`update t set b = 1 where a = ${0}`.execute(within);
      for (let n = 0; n < 10; n += 1) await update(few);
      await sql`insert into t (a) select generate_series(1, 5000)`.execute(few);
      /** Rows that the server has not summed up yet are counted as well. */
      const counted = async (within: Kysely<Database>) => {
        const { rows } = await sql<{ read: string }>`select seq_tup_read as read
          from pg_stat_xact_user_tables where relname = 't'`.execute(within);
        return Number(rows[0]?.read);
      };
      const read = () =>
        few.transaction().execute(async (within) => {
          const before = await counted(within);
          await update(within);
          return (await counted(within)) - before;
        });
      expect(await read()).toBeGreaterThan(1_000);
      time.now += 1_000;
      expect(await read()).toBe(0);
    } finally {
      await few.destroy();
    }
  });

  test("behind a pooler nothing is prepared by name", async () => {
    const url = server.newDatabase();
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-pooler-"));
    const real = decodeURIComponent(new URL(url).searchParams.get("host") ?? "");
    const pooler = await startPooler(folder, real);
    try {
      await opened(url.replace(encodeURIComponent(real), encodeURIComponent(folder)), async () => {
        await insert(db, 1);
        await insert(db, 2);
        expect(await namedInserts(db)).toBe(0);
        expect(await rowsOf(db)).toEqual([{ a: 1 }, { a: 2 }]);
      });
    } finally {
      pooler.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
