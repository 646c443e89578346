import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { liveAddress, noteAddress } from "../../../src/infrastructure/serve/live-address.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "picoclaw-live-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const at = { address: "127.0.0.1:4711", storeFile: null };
const own = () => join(home, "serving", `${process.pid}.json`);
const change = (more: Record<string, unknown>) =>
  writeFileSync(own(), JSON.stringify({ ...JSON.parse(readFileSync(own(), "utf8")), ...more }));

test("an address is known while its server runs", () => {
  expect(liveAddress(home)).toBeNull();
  const forget = noteAddress(home, at, new Date());
  expect(liveAddress(home)).toBe("127.0.0.1:4711");
  forget();
  expect(liveAddress(home)).toBeNull();
});

test("the address of a killed server is not believed, and is removed", () => {
  noteAddress(home, at, new Date());
  change({ pid: 2 ** 22 + 1 });
  expect([liveAddress(home), readdirSync(join(home, "serving"))]).toEqual([null, []]);
});

test("a process that has the number of a dead one is not it", () => {
  noteAddress(home, at, new Date());
  change({ started: 1 });
  expect(liveAddress(home)).toBeNull();
});

test("a note of another machine or container says nothing here, and stays", () => {
  noteAddress(home, at, new Date());
  change({ place: "elsewhere" });
  expect([liveAddress(home), readdirSync(join(home, "serving")).length]).toEqual([null, 1]);
});

test("a home that cannot be written keeps no server from serving", () => {
  writeFileSync(join(home, "serving"), "");
  noteAddress(home, at, new Date())();
  expect(liveAddress(home)).toBeNull();
});
