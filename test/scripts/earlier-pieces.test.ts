import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepEarlierPieces } from "../../scripts/earlier-pieces.ts";

const DAY_MS = 24 * 3600_000;
const START_MS = Date.parse("2026-01-01T00:00:00Z");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-pieces-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Builds on a day, and says which pieces lie there then. */
function build(day: number, files: readonly string[]): string[] {
  const [earlier, fresh] = [join(folder, "dist"), join(folder, "dist.new")];
  mkdirSync(fresh);
  for (const name of files) writeFileSync(join(fresh, name), `made on day ${day}`);
  keepEarlierPieces({ earlier, fresh, nowMs: START_MS + day * DAY_MS });
  rmSync(earlier, { recursive: true, force: true });
  renameSync(fresh, earlier);
  return readdirSync(earlier)
    .filter((name) => name !== "pieces.json")
    .sort();
}

test("a build keeps what a process of the one before may ask for later, however old that is", () => {
  build(0, ["main.js", "chunk-a1.js", "chunk-a1.js.jsc", "chunk-same.js", "edit-e1.js", "jobs-j1.js"]);
  expect(build(30, ["main.js", "chunk-b2.js", "chunk-same.js"])).toEqual([
    "chunk-a1.js",
    "chunk-a1.js.jsc",
    "chunk-b2.js",
    "chunk-same.js",
    "edit-e1.js",
    "jobs-j1.js",
    "main.js",
  ]);
  expect(readFileSync(join(folder, "dist/chunk-same.js"), "utf8")).toBe("made on day 30");
});

test("a piece is removed a week after it was replaced", () => {
  build(0, ["chunk-a1.js"]);
  build(30, ["chunk-b2.js"]);
  expect(build(36, ["chunk-c3.js"])).toEqual(["chunk-a1.js", "chunk-b2.js", "chunk-c3.js"]);
  expect(build(38, ["chunk-d4.js"])).toEqual(["chunk-b2.js", "chunk-c3.js", "chunk-d4.js"]);
});

test("a file without a hash in its name is never taken over: its contents are another build's", () => {
  build(0, ["main.js", "old.js", "edit.js"]);
  expect(build(1, ["main.js"])).toEqual(["main.js"]);
});
