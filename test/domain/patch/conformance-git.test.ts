import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import { planEdit } from "../../../src/domain/patch/plan-edit.ts";
import { MemoryTree, planOptions } from "../../scenarios/edit/memory-tree.ts";

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

function treeOf(entries: TreeOf): MemoryTree {
  const tree = new MemoryTree();
  for (const [path, entry] of Object.entries(entries)) {
    if (entry.t === "f") tree.put(path, Buffer.from(entry.b, "base64"), Number.parseInt(entry.m.slice(2), 8));
    else
      tree.entries.set(path, entry.t === "l" ? { kind: "symlink", target: entry.to } : { kind: "directory" });
  }
  return tree;
}

/** True when the patch was applied to the tree. */
function apply(tree: MemoryTree, patch: Uint8Array): boolean {
  const parsed = parseUnifiedDiff(patch);
  if (!parsed.ok) return false;
  const plan = planEdit({ kind: "diff", files: parsed.files }, tree, planOptions);
  if (plan.ok) tree.write(plan.writes);
  return plan.ok;
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
      test(`${each.test} ${each.id}`, () => {
        const tree = treeOf(each.before);
        expect(apply(tree, Buffer.from(each.patch, "base64"))).toBe(true);
        expect(tree.snapshot()).toEqual(treeOf(each.after).snapshot());
      });
    }
  });
  describe("what git apply refuses is refused and touches nothing", () => {
    for (const each of cases.filter((one) => (one.plain || like(one)) && one.rc !== 0)) {
      test(`${each.test} ${each.id}${LENIENT[each.id] ? ` (accepted: ${LENIENT[each.id]})` : ""}`, () => {
        const tree = treeOf(each.before);
        const applied = apply(tree, Buffer.from(each.patch, "base64"));
        expect(applied).toBe(each.id in LENIENT);
        if (!applied) expect(tree.snapshot()).toEqual(treeOf(each.before).snapshot());
      });
    }
  });
}
