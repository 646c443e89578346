import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openMigratedStore } from "../../../src/infrastructure/store/open-store.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "picoclaw-private-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const FILES = ["picoclaw.db", "picoclaw.db-wal", "picoclaw.db-shm"];
const modes = () => FILES.map((name) => statSync(join(home, name)).mode & 0o777);

async function open() {
  const opened = await openMigratedStore({ home, databaseUrl: undefined }, () => new Date());
  if (!opened.ok) throw new Error(opened.trouble.detail);
  return opened.db;
}

test("the file of the store, its log and the log's index are their owner's alone", async () => {
  const db = await open();
  expect(modes()).toEqual([0o600, 0o600, 0o600]);
  await db.destroy();
});

test("a store of an earlier version, open in another process too, is closed to others when it is opened", async () => {
  const first = await open();
  for (const name of FILES) chmodSync(join(home, name), 0o644);
  const second = await open();
  expect(modes()).toEqual([0o600, 0o600, 0o600]);
  await second.destroy();
  await first.destroy();
  expect(statSync(join(home, "picoclaw.db")).mode & 0o777).toBe(0o600);
});
