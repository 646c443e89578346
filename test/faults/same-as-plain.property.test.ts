/** The oracle of a view: after any commands in a job, the workspace is as if they had been run in it directly. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Transaction } from "../../src/application/ports/jobs-transaction.ts";
import { createBench, type StagingKind } from "../contracts/transaction-bench.ts";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { cases, requirePart } from "../require.ts";
import { plant, type Seed, seeds, shellLine } from "./random-tree.ts";

const SLOW = { timeout: 600_000 };

async function runInView({ processes, directory }: Transaction, line: string): Promise<void> {
  const env = { PATH: process.env.PATH ?? "" };
  const common = { env, timeoutMs: 120_000, outputLimitBytes: 1000, jobMarker: "oracle" };
  const cwd = directory as string;
  if (processes === undefined) spawnSync("sh", ["-c", line], { cwd, env, stdio: "ignore" });
  else await processes.runProcess({ argv: ["sh", "-c", line], cwd, ...common });
}

/** Commands of a job have no capability, not even root's. */
const powerless = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] : [];

/** The tree as a person would see it, but for times, owners and entries that are not files. */
const seen = (tree: Tree) =>
  Object.entries(tree)
    .filter(([, { kind }]) => kind !== "other")
    .map(([path, { kind, mode, bytes, target }]) => [path, kind, mode, bytes, target]);

async function expectSame(
  kind: StagingKind,
  planted: readonly Seed[],
  lines: readonly string[],
): Promise<void> {
  const bench = createBench(kind);
  const plain = join(bench.folder, "plain");
  try {
    plant(bench.workspace, planted);
    mkdirSync(plain);
    spawnSync("cp", ["-a", "-T", bench.workspace, plain]);
    const before = bench.tree();
    spawnSync("env", [...powerless, "sh", "-c", lines.join("\n")], {
      cwd: plain,
      stdio: "ignore",
      timeout: 60_000,
    });
    const reported = new Set<string>();
    const jobId = await bench.apply(async (_, transaction) => {
      for (const line of lines) {
        await runInView(transaction, line);
        for (const { path } of transaction.takeChanges({ processRan: true })) reported.add(path);
      }
    });
    const after = bench.tree();
    expect(seen(after)).toEqual(seen(treeOf(plain)));
    // Every file that differs in the end was named by the command that made it differ.
    const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (path) =>
        before[path]?.bytes !== after[path]?.bytes ||
        before[path]?.kind !== after[path]?.kind ||
        before[path]?.target !== after[path]?.target,
    );
    expect(differing.filter((path) => !reported.has(path))).toEqual([]);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(before);
    expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(after);
  } finally {
    bench.remove();
  }
}

/** Where a folder cannot be renamed in one step, `mv` empties the target before it sees that it is a part of the source. */
function movesIntoItself(line: string): boolean {
  const [, one = "", two = ""] = /^mv .*-- '(.*)' '(.*)'$/.exec(line) ?? [];
  return line.startsWith("mv") && (`${two}/`.startsWith(`${one}/`) || `${one}/`.startsWith(`${two}/`));
}

/** Nor can `mv` then move a folder with a read-only one in it. And no link leads out: one of the two runs unconfined. */
const openSeeds = seeds.map((all) =>
  all.map((seed) => {
    if (seed.kind === "folder") return { ...seed, mode: seed.mode | 0o200 };
    return seed.kind === "link" && seed.target.includes("..") ? { ...seed, target: "a" } : seed;
  }),
);

const file = (path: string, content = path): Seed => ({ kind: "file", path, content, mode: 0o644 });

/** Each was wrong once, or easily would be. */
const CASES: Readonly<Record<string, readonly [Seed[], string[]]>> = {
  "a folder is removed and made again with the same folders in it": [
    [file("c/x/old"), file("c/y")],
    ["rm -rf c; mkdir -p c/x; echo new > c/x/new"],
  ],
  "… by a later command": [
    [file("c/x/z/old"), file("c/y")],
    ["rm -rf c; mkdir c", "mkdir -p c/x/z", "echo new > c/x/z/new"],
  ],
  "a folder that was touched before is removed": [
    [file("d/.env"), file("d/s/k"), file("d/t/u/v")],
    ["touch d/x; mkdir d/s/n; rm -r d/t/u", "rm -rf d"],
  ],
  "… and made again": [
    [file("d/.env"), file("d/s/k")],
    ["touch d/x; mkdir d/s/n", "rm -rf d; mkdir -p d/s; echo new > d/s/k2"],
  ],
  "a folder is moved": [[file("a/f"), file("a/s/g")], ["mv a b"]],
  "a folder is moved to where another stood": [
    [file("a/x/1"), file("a/f"), file("c/x/2"), file("c/g")],
    ["rm -rf c; mv a c"],
  ],
  "two folders change places": [[file("a/x/1"), file("b/x/2"), file("b/only")], ["mv a t; mv b a; mv t b"]],
  "a folder is moved, and a folder of it, and written to": [
    [file("a/s/d/h"), file("a/s/g"), file("a/f"), file("o/k")],
    ["mv a b", "mv b/s b/s2; mv b/s2/d o/d2", "mv b c; rm c/f; mkdir a; echo n > c/s2/n; echo m >> o/d2/h"],
  ],
  "a folder with all kinds of things in it is moved": [
    [file("a/f"), { kind: "link", path: "a/l", target: "f" }, { kind: "folder", path: "a/e", mode: 0o700 }],
    ['python3 -c \'import os; os.rename("a", "b")\' || mv a b', "echo x >> b/f", "rm b/l"],
  ],
  "a moved folder is removed": [
    [file("a/s/g"), file("a/f")],
    ["mv a b", "rm -rf b"],
  ],
  "a folder is moved into one that is new": [[file("a/s/g")], ["mkdir -p n/m; mv a n/m/a", "mv n/m/a/s s"]],
  "a folder is moved there and back": [
    [file("a/s/g"), file("a/f")],
    ["mv a b", "mv b a"],
  ],
};

describe.if(process.platform === "linux" && requirePart("bwrap"))(
  "a job's commands do what they would do without it",
  () => {
    for (const kind of ["overlay", "copy"] satisfies StagingKind[])
      for (const [name, [planted, lines]] of Object.entries(CASES))
        test(`${kind}: ${name}`, () => expectSame(kind, planted, lines));

    test(
      "overlay: of any kind",
      async () => {
        const lines = fc.array(
          shellLine.filter((line) => !/^(mkfifo|chmod 555)/.test(line) && !movesIntoItself(line)),
          { minLength: 1, maxLength: 8 },
        );
        await fc.assert(
          fc.asyncProperty(openSeeds, lines, (planted, list) => expectSame("overlay", planted, list)),
          { numRuns: cases(20) },
        );
      },
      SLOW,
    );
  },
);
