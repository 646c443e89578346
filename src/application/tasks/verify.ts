import { taskVerdict } from "../../domain/tasks/verdict.ts";
import type { CheckFact } from "../ports/tasks.ts";
import { wordRedCheck, wordTests } from "../checks/word-red-check.ts";
import { keepChange } from "./keep-change.ts";
import { compareWithBase, type KnownBefore, runChecks } from "./run-checks.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { SolveStop } from "./solve-stop.ts";
import { stepsLeft } from "./steps-left.ts";

const FIX_ROUNDS = 2;

/**
 * Runs the project's tests and linters over the change, as it was kept right before: what they write themselves is no part of it. What
 * fails is run over the cloned project as well, and goes back to the coder, twice at most; after that the report names it.
 */
export async function verifyChange(
  parts: SolveDeps,
  work: SolveWork,
  goOn: () => Promise<void>,
): Promise<void> {
  const before: KnownBefore = new Map();
  for (let round = 0; ; round++) {
    const trouble = await keepChange(work, { exact: true });
    if (trouble !== null) throw new SolveStop("push-failed", parts.mask(trouble));
    const ran = await runChecks(parts, work);
    const isRed = taskVerdict(ran.map(({ fact }) => fact)) === "red";
    const compared = isRed && work.task.patch !== "" ? await compareWithBase(parts, work, ran, before) : ran;
    const checks = compared.map(({ fact }) => fact);
    await work.update({ checks });
    // What is not installed there cannot be mended by a change of the project.
    if (!isRed || round === FIX_ROUNDS || stepsLeft(work.task, parts.config.maxSteps) <= 0) return;
    const text = askToFix(checks, work.task.patch !== "");
    await work.update({ transcript: [...work.task.transcript, { role: "user", text }] });
    await goOn();
  }
}

function askToFix(checks: readonly CheckFact[], changed: boolean): string {
  return [
    "The checks of the project do not pass:",
    ...checks
      .filter(({ exitCode }) => exitCode !== 0)
      .map((check) =>
        [wordRedCheck({ ...check, output: check.output ?? "" }), ...sinceWords(check.since)].join("\n"),
      ),
    changed
      ? "Mend what your change broke. What failed before as well and has nothing to do with the task may stay as it is: say so and finish again with done."
      : "You have changed nothing. Mend it if it is part of the task, or finish again with done and say why nothing is to be changed.",
  ].join("\n\n");
}

function sinceWords(since: CheckFact["since"]): string[] {
  if (since === undefined) return [];
  if (since.worse.length > 0) return wordTests("Passed before your change, or new, and failing", since.worse);
  const asBefore =
    since.verdict === "red-before" || since.verdict === "better" || since.verdict === "unknown";
  return [asBefore ? "It failed before your change as well." : "It did not fail before your change."];
}
