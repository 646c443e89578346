import { renameSync } from "node:fs";
import type { View } from "../../src/application/ports/platform-view.ts";
import { type StagingKind, type TransactionBench, text } from "./transaction-bench.ts";

/** One chapter of the contract; `current` is the bench of the running test. */
export type ContractPart = (kind: StagingKind, current: () => TransactionBench) => void;

/** The files that every test of the contract finds. */
export function fillBench(bench: TransactionBench): void {
  bench.save("kept.txt", "kept\n");
  bench.save("edited.txt", "one\n");
  bench.save("gone.txt", "to be deleted\n");
  bench.save("folder/inner.txt", "inner\n");
  bench.save("tree/branch/leaf.txt", "leaf\n");
}

/** Edits, deletes, creates, makes folders and a link, deletes folders. */
export function changeAll(view: View): void {
  view.write("edited.txt", text("two\n"));
  view.remove("gone.txt");
  view.write("made/deep/new.txt", text("new\n"));
  view.makeDirectory("empty");
  view.makeSymlink("link", "kept.txt");
  view.remove("folder/inner.txt");
  view.remove("folder");
  view.remove("tree/branch/leaf.txt");
  view.remove("tree/branch");
  view.remove("tree");
}

/** Editors save so: they write beside and rename over. */
export function replaceByRename(bench: TransactionBench): void {
  bench.save(".edited.swp", "mine\n");
  renameSync(bench.at(".edited.swp"), bench.at("edited.txt"));
}
