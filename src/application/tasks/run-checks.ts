import { failingOutput } from "../../domain/checks/failing-output.ts";
import { type CheckResult, judgeCheck } from "../../domain/checks/verdict.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckFact } from "../ports/tasks.ts";
import type { RunInEnvironment, TaskEnvironment } from "../ports/task-environments.ts";
import { checkResult } from "../checks/check-results.ts";
import { foundChecks } from "./found-checks.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { SolveStop } from "./solve-stop.ts";

const OUTPUT_CHARS = 4000;

export interface RunCheck {
  readonly fact: CheckFact;
  readonly check: ProjectCheck;
  readonly result: CheckResult;
}

/** Runs the project's tests and linters over what lies in the environment. */
export async function runChecks({ config, mask }: SolveDeps, work: SolveWork): Promise<readonly RunCheck[]> {
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
export type KnownBefore = Map<string, CheckResult>;

/** Runs what is red, and not `known` yet, over the project as it was cloned, and says with each fact what was red before. */
export async function compareWithBase(
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
