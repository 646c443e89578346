import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { keepEarlierPieces, ownFileTest } from "../../scripts/earlier-pieces.ts";
import { isBundleFresh } from "../fresh-bundle.ts";

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

test("pieces of earlier builds are told from the files of the build itself", () => {
  build(0, ["main.js", "chunk-a1.js"]);
  const files = build(1, ["main.js", "chunk-b2.js", "container-files.js"]);
  expect(files.filter(ownFileTest(join(folder, "dist")))).toEqual([
    "chunk-b2.js",
    "container-files.js",
    "main.js",
  ]);
});

test.each([
  ["as it was made", true, () => {}],
  ["older than a script", false, () => touch("scripts/bundle.ts", 3)],
  ["older than a source", false, () => touch("src/main.ts", 3)],
  ["older than the lock of its packages", false, () => touch("package-lock.json", 3)],
  ["without its entry", false, () => rmSync(join(folder, "dist/main.js"))],
  ["with an empty piece", false, () => writeFileSync(join(folder, "dist/chunk-a1.js"), "")],
  ["without a piece", false, () => rmSync(join(folder, "dist/edit-e1.js"))],
  ["with a list that is cut off", false, () => writeFileSync(join(folder, "dist/pieces.json"), '["chunk')],
])("a bundle %s is fresh: %p", (_, isFresh, change) => {
  for (const name of [
    "src/main.ts",
    "scripts/bundle.ts",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
  ])
    touch(name, 1);
  build(0, ["main.js", "chunk-a1.js", "edit-e1.js"]);
  touch("dist/wiring/executor.js", 2);
  change();
  expect(isBundleFresh(folder)).toBe(isFresh);
});

function touch(name: string, second: number): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), "x");
  utimesSync(join(folder, name), second, second);
}
