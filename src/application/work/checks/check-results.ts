import type { CheckResult } from "../../../domain/work/checks/judge.ts";
import type { ProjectCheck } from "../../../domain/work/checks/project-check.ts";
import { readResults } from "../../../domain/work/checks/read-results.ts";
import { stateOfRun } from "../../../domain/work/checks/run-state.ts";
import type { CheckRun } from "../draft.ts";

/** What the runs of checks say, in the order of the checks. */
export function checkResults(checks: readonly ProjectCheck[], runs: readonly CheckRun[]): CheckResult[] {
  return checks.flatMap(({ kind, command }, at) => {
    const run = runs[at];
    if (run === undefined) return [];
    return [{ kind, command, state: stateOf(run), results: kind === "test" ? readResults(run.whole) : null }];
  });
}

function stateOf({ outcome, exitCode, whole }: CheckRun): CheckResult["state"] {
  if (outcome === "timed-out") return "timed-out";
  return outcome === "not-started" ? "cannot-run" : stateOfRun(exitCode, whole);
}
