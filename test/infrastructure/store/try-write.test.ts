import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openSqlite, tryWrite } from "../../../src/infrastructure/store/open-store.ts";
import { migrate } from "../../../src/infrastructure/store/schema.ts";

test("a store that can be read and not written is distinguished from one that can", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-write-"));
  const db = openSqlite(join(folder, "store.db"));
  await migrate(db, () => new Date(0));
  const changes = async () =>
    Number((await sql<{ n: number }>`select total_changes() as n`.execute(db)).rows[0]?.n);
  const before = await changes();
  await tryWrite(db, new Date(1));
  expect((await changes()) - before).toBe(1);
  await sql`pragma query_only = on`.execute(db);
  expect(await tryWrite(db, new Date(1)).catch((error: unknown) => String(error))).toContain("readonly");
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});
