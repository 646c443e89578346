import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { migrate } from "../../../src/infrastructure/store/schema.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-give-way-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("work that only talks to the embedded store does not keep other work waiting", async () => {
  const db = openSqlite(join(folder, "picoclaw.db"));
  await migrate(db, () => new Date());
  const others = { turns: 0, ended: false };
  const turn = () => {
    others.turns++;
    if (!others.ended) setImmediate(turn);
  };
  setImmediate(turn);
  const talk = async () => {
    for (let i = 0; i < 5_000 && others.turns < 3; i++)
      await db.selectFrom("messages").select("id").where("channel", "=", "line").execute();
  };
  await Promise.all([talk(), talk(), talk()]);
  others.ended = true;
  expect(others.turns).toBeGreaterThanOrEqual(3);
  await db.destroy();
});
