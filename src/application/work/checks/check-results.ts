import type { CheckResult } from "../../../domain/work/checks/judge.ts";
import type { ProjectCheck } from "../../../domain/work/checks/project-check.ts";
import { readResults } from "../../../domain/work/checks/read-results.ts";
import type { CheckRun } from "../draft.ts";

/** What the runs of checks say, in the order of the checks. */
export function checkResults(checks: readonly ProjectCheck[], runs: readonly CheckRun[]): CheckResult[] {
  return checks.flatMap(({ kind, command }, at) => {
    const run = runs[at];
    if (run === undefined) return [];
    return [{ kind, command, state: stateOf(run), results: kind === "test" ? readResults(run.whole) : null }];
  });
}

/** As a shell says that a program is not there or cannot be run, and as Python says it of a module that it was to run. */
const NO_MODULE = /(?:^|\n)\S*python\S*: No module named [\w.]+\s*$/;

function stateOf({ outcome, exitCode, whole }: CheckRun): CheckResult["state"] {
  if (outcome === "timed-out") return "timed-out";
  if (outcome === "not-started" || exitCode === 126 || exitCode === 127 || NO_MODULE.test(whole))
    return "cannot-run";
  return exitCode === 0 ? "green" : "red";
}
