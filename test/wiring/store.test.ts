import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openServices } from "../../src/wiring/services.ts";
import { shareStores } from "../../src/wiring/store.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "picoclaw-store-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function load() {
  const services = await openServices({ PICOCLAW_HOME: home }, { cwd: home });
  if (!services.ok) throw new Error("no configuration");
  return services;
}

test("folders of one process share the connection, also when they open at once, and the last one closes it", async () => {
  const open = shareStores();
  const services = await load();
  const [a, b] = await Promise.all([open(services), open(services)]);
  if (!a.ok || !b.ok) throw new Error("not opened");
  expect(a.db).toBe(b.db);
  await a.close();
  expect(await b.db.selectFrom("jobs").selectAll().execute()).toEqual([]);
  await b.close();
  const again = await open(services);
  if (!again.ok) throw new Error("not opened");
  expect(again.db).not.toBe(b.db);
  expect(await again.db.selectFrom("jobs").selectAll().execute()).toEqual([]);
  await again.close();
});

test("a store that could not be opened is tried again", async () => {
  const open = shareStores();
  const services = await load();
  const file = join(home, "picoclaw.db");
  writeFileSync(file, "not a database ".repeat(500));
  expect(await open(services)).toMatchObject({ ok: false, exitCode: 3 });
  rmSync(file);
  const opened = await open(services);
  expect(opened.ok).toBe(true);
  if (opened.ok) await opened.close();
});
