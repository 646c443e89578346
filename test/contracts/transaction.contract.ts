import { afterEach, beforeEach, describe } from "bun:test";
import { describeCommit } from "./contract-commit.ts";
import { describeFolders } from "./contract-folders.ts";
import { fillBench } from "./contract-job.ts";
import { describeJudge } from "./contract-judge.ts";
import { describeKeeping } from "./contract-keeping.ts";
import { describeLife } from "./contract-life.ts";
import { describeUndo } from "./contract-undo.ts";
import type { StagingKind, TransactionBench } from "./transaction-bench.ts";

export interface TransactionHarness {
  readonly kind: StagingKind;
  open(): TransactionBench;
}

/** The contract of every way to stage. A kind that runs no processes changes the view by its own operations. */
export function describeTransactions({ kind, open }: TransactionHarness): void {
  describe(`${kind} transactions:`, () => {
    let bench: TransactionBench;
    beforeEach(() => {
      bench = open();
      fillBench(bench);
    });
    afterEach(() => bench.remove());
    for (const part of [
      describeLife,
      describeCommit,
      describeFolders,
      describeUndo,
      describeKeeping,
      describeJudge,
    ])
      part(kind, () => bench);
  });
}
