import { checkEdits } from "../../domain/coder/proposal-check-edits.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { Execution } from "../jobs/execution.ts";
import type { Bench, BenchAttempt } from "./coder-bench.ts";

export interface PlainBenchDeps {
  readonly files: ProjectFiles;
  readonly execute: (attempt: BenchAttempt) => Promise<Execution>;
}

/**
 * A bench without a draft, for a dry run and where nothing can be staged: edits are only tried on the files as they
 * stand, and the last proposal is executed when it lands.
 */
export function createPlainBench({ files, execute }: PlainBenchDeps): Bench {
  let last: BenchAttempt | null = null;
  const executed = () => {
    if (last === null) throw new Error("nothing was proposed yet");
    return execute(last);
  };
  return {
    files: () => files,
    async carryOut(attempt) {
      last = attempt;
      const checked = checkEdits(attempt.commands, files.source, files.planOptions);
      const command = attempt.commands.find(({ edit }) => edit !== undefined);
      if (checked.ok || command === undefined) return { kind: "ran", results: [] };
      const failed = { command, success: false, output: checked.report, error: "does not match the files" };
      return { kind: "ran", results: [{ ...failed, duration: 0, changes: [], notes: [] }] };
    },
    judge: async () => null,
    confirm: async () => null,
    sendOut: async () => {},
    changes: () => [],
    land: executed,
    keep: executed,
    drop: async () => {},
  };
}
