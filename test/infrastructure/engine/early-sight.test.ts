/** First sight of the workspace while a command still runs. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createChangeWatch,
  createEarlySight,
  createFirstSight,
  type EarlySight,
  type FirstSight,
} from "../../../src/infrastructure/engine/overlay-changes.ts";
import { takeStamp } from "../../../src/infrastructure/jobs/job-folder.ts";
import { hashHex } from "../../../src/infrastructure/platform/hash.ts";
import type { LaidRoot } from "../../../src/infrastructure/sandbox/create-sandbox.ts";

let folder: string;
let root: LaidRoot;
let sight: FirstSight;
let early: EarlySight;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "early-sight-"));
  root = {
    path: join(folder, "workspace"),
    upper: join(folder, "upper"),
    redirects: false,
    hides: new Set(),
  };
  for (const path of [root.path, root.upper]) mkdirSync(join(path, "d"), { recursive: true });
  for (const name of ["d/a", "d/b"]) writeFileSync(inWorkspace(name), "before\n");
  sight = createFirstSight(takeStamp(join(folder, "stamp")));
  early = createEarlySight([root], sight);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inWorkspace = (path: string) => join(root.path, path);
const change = (path: string) => writeFileSync(join(root.upper, path), "the job's\n");
const look = () => createChangeWatch([root], root.path, sight, early)();

async function untilNoted(path: string): Promise<void> {
  while (sight.existed(inWorkspace(path)) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
}

test("a file is known as the command had left it, even if its user saves before the command ends", async () => {
  const stop = early.watch();
  change("d/a");
  await untilNoted("d/a");
  stop();
  writeFileSync(inWorkspace("d/a"), "the user's\n");
  change("d/b");
  expect(look()).toEqual([
    { path: "d/a", kind: "modified" },
    { path: "d/b", kind: "modified" },
  ]);
  expect(sight.file(inWorkspace("d/a"))?.hash).toBe(hashHex("sha256", "before\n"));
});

test("a file that the user deletes while the command runs is still one that the command changed", async () => {
  const stop = early.watch();
  change("d/a");
  await untilNoted("d/a");
  stop();
  rmSync(inWorkspace("d/a"));
  expect(look()).toEqual([{ path: "d/a", kind: "modified" }]);
  expect(sight.existed(inWorkspace("d/a"))).toBe(true);
});

test("a path that the command leaves as it was is as if it had never been seen", async () => {
  const stop = early.watch();
  change("d/a");
  change("d/new");
  await untilNoted("d/new");
  await untilNoted("d/a");
  stop();
  rmSync(join(root.upper, "d/new"));
  expect(look()).toEqual([{ path: "d/a", kind: "modified" }]);
  expect(sight.existed(inWorkspace("d/new"))).toBeUndefined();
  expect(sight.existed(inWorkspace("d/a"))).toBe(true);
});

test("files that come into a folder later are found although its time of writing is set back", async () => {
  const stop = early.watch();
  for (const name of ["d/a", "d/b", "d/c"]) {
    change(name);
    utimesSync(join(root.upper, "d"), 1, 1);
    await untilNoted(name);
  }
  stop();
  expect(sight.existed(inWorkspace("d/c"))).toBe(false);
});

test("a folder that the command shuts ends no job", async () => {
  const stop = early.watch();
  change("a");
  chmodSync(join(root.upper, "d"), 0);
  await untilNoted("a");
  stop();
  chmodSync(join(root.upper, "d"), 0o755);
  expect(look()).toEqual([{ path: "a", kind: "added" }]);
});
