import type { ChecksFacts } from "../../domain/checks/checks-facts.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckRun } from "../jobs/draft.ts";
import { wordRedCheck, wordTests } from "./word-red-check.ts";

/** What the checks show, for the coder who made the draft: what is worse, and what the red checks printed. */
export function wordChecks(
  facts: ChecksFacts,
  runs: readonly CheckRun[],
  checks: readonly ProjectCheck[],
): string {
  const red = runs.filter(({ exitCode }) => exitCode !== 0);
  return [
    facts.verdict === "new-failing"
      ? "New tests fail. If they are meant to fail, say so and repeat your answer; else mend them."
      : facts.unended !== undefined
        ? `With your change these checks did not end in ${facts.unended.seconds} seconds, and before it they did: ${facts.unended.commands.join(", ")}.`
        : "The project's own checks are worse than before your change.",
    ...wordTests("Passed before, and fail now or are gone", facts.worse),
    ...wordTests("New and failing", facts.newFailing),
    ...red.map((run) => wordRedCheck({ ...run, command: checkCommandLine(run, checks) })),
  ].join("\n\n");
}

function checkCommandLine({ command }: CheckRun, checks: readonly ProjectCheck[]): string {
  return checks.find(({ line }) => line === command)?.command ?? command;
}
