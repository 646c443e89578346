import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { createStatementCache } from "../../../src/infrastructure/store/sqlite.ts";

test("the last used stay, the one used longest ago is prepared again", () => {
  const made: string[] = [];
  const kept = createStatementCache(2, (text) => {
    made.push(text);
    return { text };
  });
  const first = kept("a");
  kept("b");
  expect(kept("a")).toBe(first);
  kept("c");
  expect(kept("a")).toBe(first);
  kept("b");
  expect(made).toEqual(["a", "b", "c", "b"]);
});

test("a kept statement sees a column that was added since, and works again after it failed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-kept-"));
  const db = openSqlite(join(folder, "store.db"));
  try {
    const rows = async () => (await sql<object>`select * from t order by a`.execute(db)).rows;
    const insert = (a: number) => sql`insert into t (a) values (${a}) returning a`.execute(db);
    await sql`create table t (a integer primary key)`.execute(db);
    await insert(1);
    expect(await rows()).toEqual([{ a: 1 }]);
    await sql`alter table t add column b integer default 7`.execute(db);
    await expect(insert(1)).rejects.toThrow("UNIQUE");
    await insert(2);
    expect(await rows()).toEqual([
      { a: 1, b: 7 },
      { a: 2, b: 7 },
    ]);
  } finally {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});
