import { requirePart } from "../require.ts";
import { describeTransactions } from "./transaction.contract.ts";
import { createBench } from "./transaction-bench.ts";

if (requirePart("bwrap")) describeTransactions({ kind: "overlay", open: () => createBench("overlay") });
