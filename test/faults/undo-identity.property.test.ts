import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import type { Transaction } from "../../src/application/ports/jobs-transaction.ts";
import type { View } from "../../src/application/ports/platform-view.ts";
import { createBench, type StagingKind, type TransactionBench } from "../contracts/transaction-bench.ts";
import { cases } from "../require.ts";
import { carryOut, edits, plant, type Seed, seeds, shellLine } from "./random-tree.ts";

const SLOW = { timeout: 600_000 };

function runLines({ directory }: Transaction, lines: readonly string[]): void {
  spawnSync("sh", ["-c", lines.join("\n")], { cwd: directory as string, stdio: "ignore", timeout: 60_000 });
}

async function expectIdentity(
  kind: StagingKind,
  planted: readonly Seed[],
  change: (view: View, transaction: Transaction) => void,
): Promise<void> {
  const bench: TransactionBench = createBench(kind);
  try {
    plant(bench.workspace, planted);
    const before = bench.tree();
    const jobId = await bench.apply(change);
    const after = bench.tree();
    for (const [direction, expected] of [
      ["undo", before],
      ["redo", after],
      ["undo", before],
    ] as const) {
      const outcome = await bench.transactions[direction](jobId, { force: false });
      expect(outcome.status === "done" ? outcome.left : outcome).toEqual([]);
      expect(bench.tree()).toEqual(expected);
    }
  } finally {
    bench.remove();
  }
}

for (const kind of ["direct", "copy"] satisfies StagingKind[])
  test(
    `undo reverts, and redo restores, any edits of a ${kind} job on any tree`,
    async () => {
      await fc.assert(
        fc.asyncProperty(seeds, edits, (planted, list) =>
          expectIdentity(kind, planted, (view) => {
            for (const edit of list) carryOut(view, edit);
          }),
        ),
        { numRuns: cases(kind === "direct" ? 50 : 20) },
      );
    },
    SLOW,
  );

test(
  "undo reverts, and redo restores, any shell commands of a copy job on any tree",
  async () => {
    await fc.assert(
      fc.asyncProperty(seeds, fc.array(shellLine, { minLength: 1, maxLength: 10 }), (planted, lines) =>
        expectIdentity("copy", planted, (_, transaction) => runLines(transaction, lines)),
      ),
      { numRuns: cases(50) },
    );
  },
  SLOW,
);

test(
  "a job leaves in the workspace what its view showed",
  async () => {
    await fc.assert(
      fc.asyncProperty(seeds, edits, async (planted, list) => {
        const trees: unknown[] = [];
        for (const kind of ["direct", "copy"] satisfies StagingKind[]) {
          const bench = createBench(kind);
          plant(bench.workspace, planted);
          await bench.apply((view) => {
            for (const edit of list) carryOut(view, edit);
          });
          const plain = Object.entries(bench.tree()).map(([path, { kind: what, bytes, target }]) => [
            path,
            what,
            bytes,
            target,
          ]);
          trees.push(plain);
          bench.remove();
        }
        expect(trees[0]).toEqual(trees[1]);
      }),
      {
        numRuns: cases(20),
        examples: [
          [
            [
              { kind: "folder", path: ".hid", mode: 0o555 },
              { kind: "folder", path: ".hid/.hid/a", mode: 0o755 },
            ],
            [
              { kind: "rename", path: ".hid/.hid", to: "a/a" },
              { kind: "mkdir", path: "b" },
            ],
          ],
        ],
      },
    );
  },
  SLOW,
);
