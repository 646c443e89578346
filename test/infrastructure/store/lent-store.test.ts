import { afterAll, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { readStoreAway } from "../../../src/domain/store/store-trouble.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { openLentPair } from "./lent-kit.ts";

const folder = makeTestFolder("lent");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
let db: Kysely<Database>;
beforeEach(async () => {
  count += 1;
  db = openSqlite(join(folder, `${count}.db`));
  await sql`create table marks (text text unique)`.execute(db);
});

const mark = (text: string) => sql`insert into marks (text) values (${text})`;
const marks = async (of: Kysely<Database> = db) =>
  (await sql<{ text: string }>`select text from marks order by text`.execute(of)).rows.map(
    ({ text }) => text,
  );

test("a transaction is one in the front, and the front writes again once it has ended", async () => {
  const { lent, asked } = openLentPair(db);
  await lent.transaction().execute(async (within) => {
    await mark("a").execute(within);
    expect(await sql`select text from marks`.execute(within)).toMatchObject({ rows: [{ text: "a" }] });
    await mark("b").execute(within);
  });
  await mark("front").execute(db);
  expect(await marks()).toEqual(["a", "b", "front"]);
  // Its beginning takes no question of its own.
  expect(asked.map(({ text, within }) => `${within} ${text.split(" ")[0]}`)).toEqual([
    "first insert",
    "begun select",
    "begun insert",
    "begun commit",
  ]);
});

test("what a callback throws takes everything back, and nothing is asked for a transaction without a statement", async () => {
  const { lent, asked } = openLentPair(db);
  const failing = lent.transaction().execute(async (within) => {
    await mark("a").execute(within);
    throw new Error("no");
  });
  expect(String(await failing.catch((error: unknown) => error))).toContain("no");
  await lent.transaction().execute(async () => {});
  expect(await marks()).toEqual([]);
  expect(asked.map(({ text }) => text.split(" ")[0])).toEqual(["insert", "rollback"]);
});

test("a statement that fails fails there as it would here, and its transaction can be ended", async () => {
  const { lent } = openLentPair(db);
  await mark("a").execute(lent);
  const twice = lent.transaction().execute((within) => mark("a").execute(within));
  expect(String(await twice.catch((error: unknown) => error))).toContain("UNIQUE");
  const { numAffectedRows } = await sql`delete from marks`.execute(lent);
  expect(numAffectedRows).toBe(1n);
});

test("a transaction that waits for its next statement keeps the front waiting until it is taken back, and then fails", async () => {
  const { lent, front } = openLentPair(db);
  const resumed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const silent = lent
    .transaction()
    .execute(async (within) => {
      await mark("lost").execute(within);
      begun.resolve();
      await resumed.promise;
      await mark("later").execute(within);
    })
    .catch((error: unknown) => error);
  await begun.promise;
  expect(front.isOpen()).toBe(true);
  const written = mark("front").execute(db);
  await front.takeBack();
  await written;
  expect(front.isOpen()).toBe(false);
  resumed.resolve();
  expect(readStoreAway(await silent)).toBe("locked");
  expect(await marks()).toEqual(["front"]);
});

test("a process that is gone leaves no transaction open, also one whose statement had just been asked for", async () => {
  const { lent, front } = openLentPair(db);
  const gone = lent
    .transaction()
    .execute(async (within) => {
      await mark("a").execute(within);
      await mark("b").execute(within);
    })
    .catch(() => {});
  await front.close();
  await gone;
  await mark("front").execute(db);
  expect(await marks()).toEqual(["front"]);
});

test("a commit that fails, as on a full disk, keeps no other writer waiting", async () => {
  await sql`pragma foreign_keys = on`.execute(db);
  await sql`create table parents (id integer primary key)`.execute(db);
  await sql`create table children (parent integer references parents deferrable initially deferred)`.execute(
    db,
  );
  const { lent } = openLentPair(db);
  const failing = lent
    .transaction()
    .execute((within) => sql`insert into children (parent) values (7)`.execute(within));
  expect(String(await failing.catch((error: unknown) => error))).toContain("FOREIGN KEY");
  await mark("front").execute(db);
  expect(await marks()).toEqual(["front"]);
});
