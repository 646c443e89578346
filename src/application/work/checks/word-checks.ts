import type { ChecksFacts } from "../../../domain/work/checks/checks-facts.ts";
import { failingOutput } from "../../../domain/work/checks/failing-output.ts";
import type { ProjectCheck } from "../../../domain/work/checks/project-check.ts";
import type { CheckRun } from "../draft.ts";

const OUTPUT_CHARS = 6000;
const NAMES = 20;

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
    ...named("Passed before, and fail now or are gone", facts.worse),
    ...named("New and failing", facts.newFailing),
    ...red.map(
      (run) => `$ ${commandOf(run, checks)}\n${failingOutput(run.output, OUTPUT_CHARS)}\n${endOf(run)}`,
    ),
  ].join("\n\n");
}

function named(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const rest = names.length > NAMES ? [`… and ${names.length - NAMES} more`] : [];
  return [`${title}:\n${[...names.slice(0, NAMES).map((name) => `- ${name}`), ...rest].join("\n")}`];
}

function commandOf({ command }: CheckRun, checks: readonly ProjectCheck[]): string {
  return checks.find(({ line }) => line === command)?.command ?? command;
}

function endOf({ exitCode, outcome }: CheckRun): string {
  return exitCode === null ? outcome : `exit code ${exitCode}`;
}
