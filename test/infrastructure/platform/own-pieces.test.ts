import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchOwnPieces } from "../../../src/infrastructure/platform/installation.ts";

let home: string;
let dist: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "picoclaw-own-"));
  dist = join(home, "dist");
  mkdirSync(dist);
  for (const name of ["main.js", "chunk-a.js", "chunk-left-by-an-earlier-build.js"])
    writeFileSync(join(dist, name), "");
  writeFileSync(join(dist, "pieces.json"), JSON.stringify(["chunk-a.js"]));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("a piece of this build that is gone is named; what an earlier build left may go", () => {
  const findGone = watchOwnPieces(dist);
  expect(findGone()).toBeNull();
  rmSync(join(dist, "chunk-left-by-an-earlier-build.js"));
  writeFileSync(join(dist, "pieces.json"), JSON.stringify(["chunk-b.js"]));
  expect(findGone()).toBeNull();
  rmSync(join(dist, "chunk-a.js"));
  expect(findGone()).toBe(join(dist, "chunk-a.js"));
});

test("a folder that was moved is gone, and back when it is moved back", () => {
  const findGone = watchOwnPieces(dist);
  renameSync(dist, join(home, "elsewhere"));
  expect(findGone()).toBe(dist);
  renameSync(join(home, "elsewhere"), dist);
  expect(findGone()).toBeNull();
});

test("from sources the program is whole", () => {
  expect(watchOwnPieces()()).toBeNull();
});
