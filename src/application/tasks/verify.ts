import {
  decidesChecks,
  decidingPartOfManifest,
  isAboutDeciding,
} from "../../domain/checks/deciding-files.ts";
import { isKnownCheck, isTestPath, type ProjectCheck } from "../../domain/checks/find-checks.ts";
import { failingOutput } from "../../domain/checks/read-results.ts";
import { type CheckResult, judgeCheck } from "../../domain/checks/verdict.ts";
import { quoteWords } from "../../domain/containers/clone-plan.ts";
import { isRedCheck, taskVerdict } from "../../domain/tasks/solve-decisions.ts";
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

/** Runs the project's tests and linters over the files in the environment. */
async function runChecks({ config, mask }: SolveDeps, work: SolveWork): Promise<readonly RunCheck[]> {
  const environment = openEnvironment(work);
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

const openEnvironment = (work: SolveWork) => work.environment as TaskEnvironment;

/** Does something over the project as it was cloned, or with only these files as they were. */
async function asCloned<T>(
  { mask }: SolveDeps,
  work: SolveWork,
  act: (environment: TaskEnvironment) => Promise<T>,
  paths?: readonly string[],
): Promise<T> {
  const environment = openEnvironment(work);
  // The change was kept before; what lies there meanwhile is not it.
  work.environment = null;
  const done = await environment
    .asCloned(() => act(environment), work.signal, paths)
    .catch((error: unknown) => {
      if (work.signal.aborted) throw new SolveStop("stopped");
      throw new SolveStop("container", mask(error instanceof Error ? error.message : String(error)));
    });
  work.environment = environment;
  return done;
}

/** The results of checks over the project as it was cloned, by command. */
type KnownBefore = Map<string, CheckResult>;

/** Whether the project as it was cloned has to be asked: a red check, and a green one whose tests may be fewer. */
function needsBase({ check, result }: RunCheck): boolean {
  if (result.state === "red") return true;
  return result.state === "green" && (result.results !== null || isKnownCheck(check.command, []));
}

/** Runs what is not `known` yet over the project as it was cloned, and says with each fact that is red or lost tests what was so before. */
async function compareWithBase(
  parts: SolveDeps,
  work: SolveWork,
  {
    ran,
    known,
    tests,
  }: { readonly ran: readonly RunCheck[]; readonly known: KnownBefore; readonly tests: readonly string[] },
): Promise<readonly RunCheck[]> {
  const unknown = ran.filter((one) => needsBase(one) && !known.has(one.check.command));
  if (unknown.length > 0)
    await asCloned(parts, work, async (environment) => {
      for (const { check } of unknown)
        known.set(check.command, toCheckResult(check, await environment.run(check.line, work.signal)));
    });
  const judge = ({ result, check }: RunCheck, old: CheckResult | null) =>
    judgeCheck({ baseline: known.get(check.command) ?? null, draft: result, old });
  const compared: RunCheck[] = [];
  for (const one of ran) {
    if (!needsBase(one)) {
      compared.push(one);
      continue;
    }
    let judged = judge(one, null);
    // Tests that the change itself takes away or renames are no loss while their old version passes.
    if (judged.verdict === "worse" && tests.length > 0 && one.check.kind === "test") {
      const run = await asCloned(parts, work, ({ run }) => run(one.check.line, work.signal), tests);
      judged = judge(one, toCheckResult(one.check, run));
    }
    const { verdict, worse, newFailing } = judged;
    const isTold = one.result.state === "red" || verdict === "worse";
    const since = { verdict, worse: [...worse, ...newFailing] };
    compared.push(isTold ? { ...one, fact: { ...one.fact, since } } : one);
  }
  return compared;
}

/** Paths that the change has, by the trees that were kept. */
async function changedPaths(work: SolveWork): Promise<readonly string[]> {
  const { tree } = work.task;
  const { run, baseCommit } = openEnvironment(work);
  if (tree == null || !/^[0-9a-f]+$/.test(tree)) return [];
  const { stdout } = await run(`git diff --name-only -z --no-renames ${baseCommit} ${tree}`, work.signal);
  return stdout.split("\0").filter((path) => path !== "");
}

/** Files of the change that decide how checks run, where what decides in them changed and the task is not about that. */
async function decidingChanges(work: SolveWork, paths: readonly string[]): Promise<readonly string[]> {
  const deciding = paths.filter(decidesChecks);
  if (deciding.length === 0 || isAboutDeciding(`${work.task.title}\n${work.item.body}`, deciding)) return [];
  const { run, baseCommit } = openEnvironment(work);
  const partIn = async (tree: string, path: string) => {
    const { stdout } = await run(quoteWords(["git", "show", `${tree}:${path}`]), work.signal);
    return decidingPartOfManifest(stdout);
  };
  const changed: string[] = [];
  for (const path of deciding) {
    const isManifest = /(?:^|\/)package\.json$/.test(path);
    if (isManifest && (await partIn(baseCommit, path)) === (await partIn(work.task.tree ?? "", path)))
      continue;
    changed.push(path);
  }
  return changed;
}

/**
 * The checks over the change. Where it changed what decides how checks run, they run with that as it was cloned: a script that the
 * change replaced says nothing about the change.
 */
async function judgeChange(
  parts: SolveDeps,
  work: SolveWork,
  known: KnownBefore,
): Promise<readonly RunCheck[]> {
  if (work.task.patch === "") return runChecks(parts, work);
  const paths = await changedPaths(work);
  const deciding = await decidingChanges(work, paths);
  const ran =
    deciding.length === 0 ? await runChecks(parts, work) : await runAsDecided(parts, work, deciding);
  return compareWithBase(parts, work, { ran, known, tests: paths.filter(isTestPath) });
}

async function runAsDecided(
  parts: SolveDeps,
  work: SolveWork,
  deciding: readonly string[],
): Promise<readonly RunCheck[]> {
  const run = (environment: TaskEnvironment) => runChecks(parts, { ...work, environment });
  const ran = await asCloned(parts, work, run, deciding);
  return ran.map((one) => ({ ...one, fact: { ...one.fact, asCloned: deciding } }));
}

function toCheckResult(check: ProjectCheck, { exitCode, stdout, stderr }: RunInEnvironment): CheckResult {
  return checkResult(check, { outcome: "exited", exitCode, whole: `${stdout}${stderr}` });
}

const FIX_ROUNDS = 2;

/**
 * Runs the project's tests and linters over the change, as it was kept right before: files that they write
 * themselves are not part of it. A failing check is also run over the cloned project, and is returned to the
 * coder, twice at most; after that the report names it.
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
    const ran = await judgeChange(parts, work, before);
    const checks = ran.map(({ fact }) => fact);
    const isRed = taskVerdict(checks) === "red";
    await work.update({ checks });
    // A change of the project cannot fix a program that is not installed there.
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
      .filter(isRedCheck)
      .map((check) =>
        [
          wordRedCheck({ ...check, output: check.output ?? "" }),
          ...asClonedWords(check.asCloned),
          ...sinceWords(check.since),
        ].join("\n"),
      ),
    changed
      ? "Mend what your change broke. What failed before as well and has nothing to do with the task may stay as it is: say so and finish again with done."
      : "You have changed nothing. Mend it if it is part of the task, or finish again with done and say why nothing is to be changed.",
  ].join("\n\n");
}

function asClonedWords(paths: CheckFact["asCloned"] = []): string[] {
  if (paths.length === 0) return [];
  return [
    `It ran with ${paths.join(", ")} as before your change, which decides how the checks run. Mend the code, and leave what decides as it is.`,
  ];
}

function sinceWords(since: CheckFact["since"]): string[] {
  if (since === undefined) return [];
  if (since.worse.length > 0) return wordTests("Passed before your change, or new, and failing", since.worse);
  const asBefore =
    since.verdict === "red-before" || since.verdict === "better" || since.verdict === "unknown";
  return [asBefore ? "It failed before your change as well." : "It did not fail before your change."];
}
