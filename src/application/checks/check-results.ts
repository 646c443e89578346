import type { CheckResult } from "../../domain/checks/verdict.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import { readResults } from "../../domain/checks/read-results.ts";
import { checkRunState } from "../../domain/checks/run-state.ts";
import type { CheckRun } from "../jobs/draft.ts";

/** What the runs of checks say, in the order of the checks. */
export function checkResults(checks: readonly ProjectCheck[], runs: readonly CheckRun[]): CheckResult[] {
  return checks.flatMap((check, at) => {
    const run = runs[at];
    return run === undefined ? [] : [checkResult(check, run)];
  });
}

type RanCheck = Pick<CheckRun, "outcome" | "exitCode" | "whole">;

/** What one run says, wherever it ran. */
export function checkResult({ kind, command }: ProjectCheck, run: RanCheck): CheckResult {
  return {
    kind,
    command,
    state: ranCheckState(run),
    results: kind === "test" ? readResults(run.whole) : null,
  };
}

function ranCheckState({ outcome, exitCode, whole }: RanCheck): CheckResult["state"] {
  if (outcome === "timed-out") return "timed-out";
  return outcome === "not-started" ? "cannot-run" : checkRunState(exitCode, whole);
}
