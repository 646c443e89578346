/** Calls of `git apply`, recorded with their trees, each carried out as a job on a real folder. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Planted, plantTree, treeOnDisk } from "./disk-tree.ts";
import { type Bench, createBench } from "./worker-kit.ts";

const folder =
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance");
const file = join(folder, "git-apply.jsonl");

type TreeOf = Record<string, { t: "f"; m: string; b: string } | { t: "l"; to: string } | { t: "d" }>;
interface GitCase {
  readonly id: string;
  readonly test: string;
  readonly opts: readonly string[];
  readonly config: readonly string[];
  readonly prefix: string;
  readonly rc: number;
  readonly patch: string;
  readonly before: TreeOf;
  readonly after: TreeOf;
  readonly plain: boolean;
}

/** Refused by git, accepted here on purpose: case id → the rule that accepts it. */
const LENIENT: Readonly<Record<string, string>> = {};

/** Options that change nothing for an engine that neither warns nor fixes white space. */
const MEANINGLESS = new Set(["-v", "--whitespace=nowarn", "--whitespace=error-all", "--whitespace=error"]);

function planted(entries: TreeOf): Record<string, Planted> {
  return Object.fromEntries(
    Object.entries(entries).map(([path, entry]): [string, Planted] => {
      if (entry.t === "d") return [path, "directory/"];
      if (entry.t === "l") return [path, { link: entry.to }];
      return [path, { bytes: Buffer.from(entry.b, "base64"), mode: Number.parseInt(entry.m.slice(2), 8) }];
    }),
  );
}

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

function treeOf(entries: TreeOf): Record<string, string> {
  const folder = join(bench.folder, "expected");
  plantTree(folder, planted(entries));
  return treeOnDisk(folder);
}

/** True when the patch was applied to the workspace. */
async function apply({ before, patch }: GitCase): Promise<boolean> {
  plantTree(bench.workspace, planted(before));
  // As a diff in a file is read: bytes that are no text have no place in a message.
  const done = await bench.execute(Buffer.from(patch, "base64").toString("utf8"));
  return done.about === "job" && done.success;
}

if (!existsSync(file)) {
  test.skip("git apply conformance: the folder is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  const cases = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as GitCase);
  const like = (each: GitCase) =>
    each.opts.every((option) => MEANINGLESS.has(option)) && each.prefix === "" && each.config.length === 0;
  describe("what git apply accepts gives exactly git's result", () => {
    for (const each of cases.filter((one) => (one.plain || like(one)) && one.rc === 0)) {
      test(`${each.test} ${each.id}`, async () => {
        expect(await apply(each)).toBe(true);
        expect(treeOnDisk(bench.workspace)).toEqual(treeOf(each.after));
      });
    }
  });
  describe("what git apply refuses is refused and touches nothing", () => {
    for (const each of cases.filter((one) => (one.plain || like(one)) && one.rc !== 0)) {
      test(`${each.test} ${each.id}${LENIENT[each.id] ? ` (accepted: ${LENIENT[each.id]})` : ""}`, async () => {
        const applied = await apply(each);
        expect(applied).toBe(each.id in LENIENT);
        if (!applied) expect(treeOnDisk(bench.workspace)).toEqual(treeOf(each.before));
      });
    }
  });
}
