/** Jobs upon jobs: each undo and redo in order is exact if only PicoClaw changed the workspace; also if some are killed. */

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { jobFolder, readState } from "../../src/infrastructure/jobs/job-folder.ts";
import {
  type BenchOptions,
  createBench,
  type StagingKind,
  type TransactionBench,
} from "../contracts/transaction-bench.ts";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { cases, requirePart } from "../require.ts";
import { adorn, carryOut, type Edit, edits, plant, seeds, shellLine, somePaths } from "./random-tree.ts";

const NIGHTLY = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const SLOW = { timeout: 7_200_000 };

/** A job by edits, or by lines of shell in a copy or in a layer. */
type Work =
  | { readonly kind: "direct"; readonly list: readonly Edit[] }
  | { readonly kind: "copy" | "overlay"; readonly lines: readonly string[] };

async function carryOutJob(bench: TransactionBench, work: Work): Promise<string> {
  return bench.apply(async (view, transaction) => {
    if (work.kind === "direct") {
      for (const edit of work.list) carryOut(view, edit);
      return;
    }
    const [cwd, line] = [transaction.directory as string, work.lines.join("\n")];
    if (transaction.processes === undefined)
      spawnSync("sh", ["-c", line], { cwd, stdio: "ignore", timeout: 60_000 });
    else
      await transaction.processes.runProcess({
        argv: ["sh", "-c", line],
        cwd,
        env: { PATH: process.env.PATH ?? "" },
        timeoutMs: 120_000,
        outputLimitBytes: 1_000,
        jobMarker: "chain",
      });
  }, work.kind);
}

/** Jobs as they were carried out, one upon the other, and the tree before the first and after each. */
class Chain {
  readonly ids: string[] = [];
  readonly trees: Tree[];
  /** How many of them are in effect. */
  standing = 0;

  constructor(readonly bench: TransactionBench) {
    this.trees = [bench.tree()];
  }

  async add(work: Work): Promise<void> {
    this.ids.length = this.standing;
    this.trees.length = this.standing + 1;
    this.ids.push(await carryOutJob(this.bench, work));
    this.trees.push(this.bench.tree());
    this.standing++;
  }

  async turn(direction: "undo" | "redo"): Promise<void> {
    const isUndo = direction === "undo";
    if (isUndo ? this.standing === 0 : this.standing === this.ids.length) return;
    const id = this.ids[isUndo ? this.standing - 1 : this.standing] as string;
    const outcome = await this.bench.transactions[direction](id, { force: false });
    expect(outcome.status === "done" ? outcome.left : outcome).toEqual([]);
    this.standing += isUndo ? -1 : 1;
    expect(this.bench.tree()).toEqual(this.trees[this.standing] as Tree);
  }

  /** A turn whose process is killed at its checkpoint number `point`, and the repair after it: the workspace is one side, whole. */
  async turnKilled(direction: "undo" | "redo", point: number): Promise<void> {
    const isUndo = direction === "undo";
    if (isUndo ? this.standing === 0 : this.standing === this.ids.length) return;
    const id = this.ids[isUndo ? this.standing - 1 : this.standing] as string;
    const child = join(import.meta.dir, "crash-child.ts");
    const words = ["--no-env-file", child, this.bench.folder, direction, id, String(point)];
    const killed = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect([killed.signal, killed.stderr.includes('"conflict"')]).toEqual([
      killed.stdout.split("\n").length > point ? "SIGKILL" : null,
      false,
    ]);
    const repaired = await this.bench.transactions.repair();
    if (repaired !== null) expect(repaired.outcome).toBe("finished");
    const state = readState(jobFolder(this.bench.storage.folder, id))?.state;
    if (state === (isUndo ? "undone" : "committed")) this.standing += isUndo ? -1 : 1;
    expect(this.bench.tree()).toEqual(this.trees[this.standing] as Tree);
  }

  /** To the beginning and to the end, twice. */
  async sweep(): Promise<void> {
    for (const direction of ["undo", "redo", "undo", "redo"] as const)
      for (let i = 0; i < this.ids.length; i++) await this.turn(direction);
  }
}

async function within(
  kind: StagingKind,
  use: (bench: TransactionBench) => Promise<void>,
  options: BenchOptions = {},
): Promise<void> {
  const bench = createBench(kind, options);
  try {
    await use(bench);
  } finally {
    bench.remove();
  }
}

const shell = (...lines: string[]): Work => ({ kind: "copy", lines });
const LARGE = 5 * 1024 * 1024;

describe("without other writers", () => {
  test.each([
    [
      "a file that becomes a folder, and an edit in it",
      [shell("rm f; mkdir f; echo 1 > f/x"), shell("echo 2 > f/x")],
    ],
    ["an edit in a folder that is renamed", [shell("echo 2 > g/x"), shell("mv g h")]],
    [
      "an edit deep in a folder that is removed",
      [shell("echo 2 > g/in/y"), shell("chmod 555 g/in"), shell("rm -rf g")],
    ],
    [
      "a folder that becomes a file, and is one again",
      [shell("rm -r g; echo > g"), shell("rm g; mkdir g; echo > g/z"), shell("echo 3 > g/z")],
    ],
    ["a file too large to read again", [shell("echo >> large"), shell("mv large g/large"), shell("mv g h")]],
    [
      "links to one file in a folder that goes",
      [shell("ln f g/f"), shell("echo 2 > g/x; rm f"), shell("mv g h")],
    ],
    [
      "a folder that one job makes, another fills and a third removes",
      [shell("mkdir d"), shell("cp -a g d"), shell("rm -rf d")],
    ],
    ["a pipe in a folder", [shell("mkfifo g/p"), shell("mv g/p g/q"), shell("mv g h")]],
  ] as const)("%s: every undo and redo is carried out, exactly", (name, works) =>
    within("copy", async (bench) => {
      for (const path of ["f", "g/x", "g/in/y"]) bench.save(path, "1\n");
      if (name.includes("large")) writeFileSync(bench.at("large"), Buffer.alloc(LARGE, 1));
      const chain = new Chain(bench);
      for (const work of works) await chain.add(work);
      await chain.sweep();
    }),
  );

  test.each([
    ["stands still", 0],
    ["goes back", -3_600_000],
  ] as const)("while the clock %s: every undo and redo is carried out, exactly", (_, step) => {
    let time = Date.parse("2026-01-01T12:00:00Z");
    const now = () => {
      time += step;
      return new Date(time);
    };
    const works = ["mkdir d", "rmdir d; echo > z", "mkdir d; echo > d/x", "echo 2 > d/x"].map((line) =>
      shell(line),
    );
    return within(
      "copy",
      async (bench) => {
        bench.save("f", "1\n");
        const chain = new Chain(bench);
        for (const work of works) await chain.add(work);
        await chain.sweep();
      },
      { deps: { now } },
    );
  });

  test.each([
    ["an edit", (bench: TransactionBench) => bench.save("g/in/y", "mine\n")],
    ["a new file", (bench: TransactionBench) => bench.save("g/in/mine", "mine\n")],
    ["a deletion that the next swap covers up", (bench: TransactionBench) => rmSync(bench.at("g/z"))],
  ] as const)("%s of somebody else in a folder that goes is seen among our own", (_, act) =>
    within("copy", async (bench) => {
      for (const path of ["g/x", "g/z", "g/in/y"]) bench.save(path, "1\n");
      const chain = new Chain(bench);
      for (const work of [shell("echo 2 > g/x"), shell("mv g h")]) await chain.add(work);
      await chain.sweep();
      await chain.turn("undo");
      act(bench);
      const [first, second] = chain.ids as [string, string];
      for (const direction of ["undo", "redo"] as const)
        expect((await bench.transactions[direction](first, { force: false })).status).toBe("done");
      expect((await bench.transactions.redo(second, { force: false })).status).toBe("conflict");
    }),
  );

  test("a job below that is still undone is not the folder as it was", () =>
    within("copy", async (bench) => {
      bench.save("g/x", "1\n");
      const chain = new Chain(bench);
      for (const work of [shell("echo 2 > g/x"), shell("mv g h")]) await chain.add(work);
      for (const id of [...chain.ids].reverse())
        expect((await bench.transactions.undo(id, { force: false })).status).toBe("done");
      expect(await bench.transactions.redo(chain.ids[1] as string, { force: false })).toMatchObject({
        status: "conflict",
        conflicts: [{ path: "g", reason: "changed" }],
      });
    }));

  /**
   * Undoes or redoes the jobs in the given order, each as soon as it is not refused; what is refused changes nothing. Where jobs
   * make or remove the same path in turn, an order may end before all are done: then what was done is taken back, and they
   * follow each other as they were made.
   */
  async function turnAll(
    bench: TransactionBench,
    ids: readonly string[],
    direction: "undo" | "redo",
    made: readonly string[],
  ) {
    const turned: string[] = [];
    const start = treeOf(bench.workspace, { times: false });
    const turn = (id: string, way: "undo" | "redo") => bench.transactions[way](id, { force: false });
    for (let left = [...ids]; left.length > 0; ) {
      const refused: string[] = [];
      for (const id of left) {
        const before = bench.tree();
        if ((await turn(id, direction)).status === "done") turned.push(id);
        else {
          expect(bench.tree()).toEqual(before);
          refused.push(id);
        }
      }
      if (refused.length === left.length) break;
      left = refused;
    }
    if (turned.length === ids.length) return;
    const back = direction === "undo" ? "redo" : "undo";
    for (const id of turned.toReversed()) expect((await turn(id, back)).status).toBe("done");
    expect(treeOf(bench.workspace, { times: false })).toEqual(start);
    for (const id of direction === "undo" ? made.toReversed() : made)
      expect((await turn(id, direction)).status).toBe("done");
  }

  const bare = (bench: TransactionBench) => treeOf(bench.workspace, { times: false });

  test.each([
    ["a folder that the first makes", [shell("mkdir d; echo > d/a"), shell("echo > d/b")]],
    [
      "folders in folders",
      [shell("mkdir -p d/e; echo > d/a"), shell("echo > d/e/b"), shell("mkdir d/e/f; echo > d/e/f/c")],
    ],
    ["a folder with a mode", [shell("mkdir -m 711 d"), shell("echo > d/b"), shell("echo > d/c")]],
    [
      "a folder in a folder that goes",
      [shell("mkdir g/d; echo > g/d/a"), shell("echo > g/d/b"), shell("mv g h")],
    ],
    ["a folder that a later one empties and removes", [shell("rm g/x"), shell("rm -r g")]],
    ["a file that a later one removes", [shell("echo > n"), shell("rm n")]],
    ["a path that each makes or removes in turn", [shell("echo > n"), shell("mv n m"), shell(": > n")]],
    ["a folder that gets another mode", [shell("mkdir -p c/b; echo > c/b/a"), shell("chmod 555 c/b")]],
  ] as const)("%s: all undone and redone in any order end in the first and the last tree", (_, works) =>
    within("copy", async (bench) => {
      for (const path of ["f", "g/x", "g/in/y"]) bench.save(path, "1\n");
      const first = bare(bench);
      const ids: string[] = [];
      for (const work of works) ids.push(await carryOutJob(bench, work));
      const last = bare(bench);
      const orders =
        ids.length === 2
          ? [
              [0, 1],
              [1, 0],
            ]
          : [
              [0, 1, 2],
              [1, 0, 2],
              [0, 2, 1],
              [1, 2, 0],
              [2, 0, 1],
              [2, 1, 0],
            ];
      for (const undos of orders)
        for (const redos of orders) {
          await turnAll(
            bench,
            undos.map((at) => ids[at] as string),
            "undo",
            ids,
          );
          expect([undos, bare(bench)]).toEqual([undos, first]);
          await turnAll(
            bench,
            redos.map((at) => ids[at] as string),
            "redo",
            ids,
          );
          expect([undos, redos, bare(bench)]).toEqual([undos, redos, last]);
        }
    }),
  );

  const byLines = (kind: "copy" | "overlay") =>
    fc.array(shellLine, { minLength: 1, maxLength: 5 }).map((lines): Work => ({ kind, lines }));
  const work = fc.oneof(
    edits.map((list): Work => ({ kind: "direct", list })),
    byLines("copy"),
    ...(process.platform === "linux" && requirePart("bwrap") ? [byLines("overlay")] : []),
  );
  const step = fc.oneof(
    { arbitrary: fc.constantFrom("undo" as const, "redo" as const), weight: 3 },
    { arbitrary: work, weight: 1 },
  );

  test(
    "any jobs on any tree: every undo and redo in order is carried out, exactly",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          seeds,
          somePaths,
          fc.array(work, { minLength: 2, maxLength: 4 }),
          fc.array(step, { maxLength: 8 }),
          (planted, adorned, works, steps) =>
            within("copy", async (bench) => {
              plant(bench.workspace, planted);
              adorn(bench.workspace, adorned);
              const chain = new Chain(bench);
              for (const one of works) await chain.add(one);
              for (const one of steps) await (typeof one === "string" ? chain.turn(one) : chain.add(one));
              await chain.sweep();
            }),
        ),
        { numRuns: NIGHTLY ? 2_000 : cases(20) },
      );
    },
    SLOW,
  );

  test(
    "any jobs on any tree, undone and redone in any order: every accepted sequence ends in the first and the last tree",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          seeds,
          fc.array(work, { minLength: 2, maxLength: 4 }),
          fc.array(fc.nat(23), { minLength: 4, maxLength: 4 }),
          (planted, works, keys) =>
            within("copy", async (bench) => {
              plant(bench.workspace, planted);
              const first = bare(bench);
              const ids: string[] = [];
              for (const one of works) ids.push(await carryOutJob(bench, one));
              const last = bare(bench);
              for (const key of keys) {
                const order = ids.toSorted(
                  (x, y) =>
                    (((ids.indexOf(x) + 1) * 7 * (key + 1)) % 23) -
                    (((ids.indexOf(y) + 1) * 7 * (key + 1)) % 23),
                );
                await turnAll(bench, order, "undo", ids);
                expect(bare(bench)).toEqual(first);
                await turnAll(bench, order.toReversed(), "redo", ids);
                expect(bare(bench)).toEqual(last);
              }
            }),
        ),
        { numRuns: NIGHTLY ? 2_000 : cases(12) },
      );
    },
    SLOW,
  );

  const killed = fc.record({
    direction: fc.constantFrom("undo" as const, "redo" as const),
    point: fc.integer({ min: 1, max: 40 }),
  });

  test(
    "any jobs on any tree, and kills at any point of an undo or redo: each repair leaves one side, and all others stay exact",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          seeds,
          somePaths,
          fc.array(work, { minLength: 2, maxLength: 3 }),
          fc.array(fc.oneof(killed, fc.constantFrom("undo" as const, "redo" as const)), {
            minLength: 3,
            maxLength: 8,
          }),
          (planted, adorned, works, steps) =>
            within("copy", async (bench) => {
              plant(bench.workspace, planted);
              adorn(bench.workspace, adorned);
              const chain = new Chain(bench);
              for (const one of works) await chain.add(one);
              for (const one of steps)
                await (typeof one === "string"
                  ? chain.turn(one)
                  : chain.turnKilled(one.direction, one.point));
              await chain.sweep();
            }),
        ),
        { numRuns: NIGHTLY ? 500 : cases(5) },
      );
    },
    SLOW,
  );
});
