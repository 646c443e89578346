import { describeTransactions } from "./transaction.contract.ts";
import { createBench, type StagingKind } from "./transaction-bench.ts";

for (const kind of ["direct", "copy"] satisfies StagingKind[])
  describeTransactions({ kind, open: () => createBench(kind) });
