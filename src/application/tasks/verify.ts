import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import { failingOutput } from "../../domain/checks/read-results.ts";
import { type CheckResult, judgeCheck } from "../../domain/checks/verdict.ts";
import { taskVerdict } from "../../domain/tasks/solve-decisions.ts";
import { checkResult } from "../checks/baseline.ts";
import { wordRedCheck, wordTests } from "../checks/project-checks.ts";
import type { CheckFact, RunInEnvironment, TaskEnvironment } from "../ports/tasks.ts";
import { foundChecks } from "./show-project.ts";
import { keepChange, type SolveDeps, SolveStop, type SolveWork, stepsLeft } from "./solve-work.ts";

const OUTPUT_CHARS = 4000;

interface RunCheck {
  readonly fact: CheckFact;
  readonly check: ProjectCheck;
  readonly result: CheckResult;
}

/** Runs the project's tests and linters over what lies in the environment. */
async function runChecks({ config, mask }: SolveDeps, work: SolveWork): Promise<readonly RunCheck[]> {
  const environment = work.environment as TaskEnvironment;
  const { signal } = work;
  const ran: RunCheck[] = [];
  const configured = work.task.checkCommand ?? config.testCommand;
  for (const check of await foundChecks(environment, configured, signal)) {
    const { kind, command, line } = check;
    const run = await environment.run(line, signal);
    const { exitCode, stdout, stderr, durationMs } = run;
    work.say(`$ ${command} → ${exitCode}`);
    const result = toCheckResult(check, run);
    const absent = result.state === "cannot-run";
    // A linter that is not installed says nothing about the change.
    if (kind === "lint" && absent) continue;
    const counts = result.results?.counts ?? null;
    const output = mask(failingOutput(`${stdout}${stderr}`, OUTPUT_CHARS).trim());
    ran.push({ check, result, fact: { kind, command, exitCode, absent, durationMs, output, counts } });
    await work.note({ kind: "checked", command, exitCode, durationMs, counts });
  }
  return ran;
}

/** What checks showed over the project as it was cloned, by command. */
type KnownBefore = Map<string, CheckResult>;

/** Runs what is red, and not `known` yet, over the project as it was cloned, and says with each fact what was red before. */
async function compareWithBase(
  { mask }: SolveDeps,
  work: SolveWork,
  ran: readonly RunCheck[],
  known: KnownBefore,
): Promise<readonly RunCheck[]> {
  const isRed = ({ result }: RunCheck) => result.state === "red";
  const unknown = ran.filter((one) => isRed(one) && !known.has(one.check.command));
  const environment = work.environment as TaskEnvironment;
  if (unknown.length > 0) {
    // The change was kept before; what lies there meanwhile is not it.
    work.environment = null;
    const run = async () => {
      for (const { check } of unknown)
        known.set(check.command, toCheckResult(check, await environment.run(check.line, work.signal)));
    };
    await environment.asCloned(run, work.signal).catch((error: unknown) => {
      if (work.signal.aborted) throw new SolveStop("stopped");
      throw new SolveStop("container", mask(error instanceof Error ? error.message : String(error)));
    });
    work.environment = environment;
  }
  return ran.map((one) => {
    const baseline = isRed(one) ? known.get(one.check.command) : undefined;
    if (baseline === undefined) return one;
    const { verdict, worse, newFailing } = judgeCheck({ baseline, draft: one.result, old: null });
    const since = { verdict, worse: [...worse, ...newFailing] };
    return { ...one, fact: { ...one.fact, since } };
  });
}

function toCheckResult(check: ProjectCheck, { exitCode, stdout, stderr }: RunInEnvironment): CheckResult {
  return checkResult(check, { outcome: "exited", exitCode, whole: `${stdout}${stderr}` });
}

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
