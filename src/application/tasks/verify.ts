import { findChecks, READ_FOR_CHECKS } from "../../domain/work/checks/find-checks.ts";
import { readResults } from "../../domain/work/checks/read-results.ts";
import type { CheckFact } from "../ports/solve-store.ts";
import type { TaskEnvironment } from "../ports/task-environments.ts";
import type { SolveParts, Work } from "./solve-parts.ts";
import { stepsLeft } from "./steps-left.ts";

const ROUNDS = 2;
const TAIL_CHARS = 4000;

/** Runs the project's tests and linters; what fails goes back to the coder, twice at most; after that the report names it. */
export async function verify(parts: SolveParts, work: Work, goOn: () => Promise<void>): Promise<void> {
  for (let round = 0; ; round++) {
    const checks = await runChecks(parts, work);
    await work.update({ checks });
    // What is not installed there cannot be mended by a change of the project.
    const absent = checks.filter(({ exitCode }) => isAbsent(exitCode));
    const failed = checks.filter(({ exitCode }) => exitCode !== 0 && !isAbsent(exitCode));
    if (failed.length === 0) {
      const notes = absent.map(({ command }) => parts.messages.checkAbsent(`\`${command}\``));
      return work.update({ notes: [...work.task.notes, ...notes] });
    }
    if (round === ROUNDS || stepsLeft(work.task, parts.config.maxSteps) <= 0) {
      const note = parts.messages.checksFailed(failed.map(({ command }) => `\`${command}\``));
      return work.update({ notes: [...work.task.notes, note] });
    }
    const text = [
      "The checks of the project do not pass yet:",
      ...failed.map(({ command, exitCode, tail }) => `$ ${command}\n${tail}\nexit code ${exitCode}`),
      "Mend what your change broke. If they failed before your change as well, say so and finish again with done.",
    ].join("\n\n");
    await work.update({ transcript: [...work.task.transcript, { role: "user", text }] });
    await goOn();
  }
}

async function runChecks({ config, mask }: SolveParts, work: Work): Promise<CheckFact[]> {
  const environment = work.environment as TaskEnvironment;
  const { signal } = work;
  const names = (await environment.run("ls -1A", signal)).stdout.split("\n").filter((name) => name !== "");
  const texts: Record<string, string> = {};
  for (const name of READ_FOR_CHECKS)
    if (names.includes(name)) texts[name] = (await environment.run(`cat ./${name}`, signal)).stdout;
  const facts: CheckFact[] = [];
  for (const { kind, command, line } of findChecks(
    { names, texts },
    work.task.checkCommand ?? config.testCommand,
  )) {
    const { exitCode, stdout, stderr, durationMs } = await environment.run(line, signal);
    const tail = mask(`${stdout}${stderr}`.slice(-TAIL_CHARS));
    work.say(`$ ${command} → ${exitCode}`);
    // A linter that is not installed says nothing about the change.
    if (kind === "lint" && isAbsent(exitCode)) continue;
    const counts = kind === "test" ? (readResults(`${stdout}${stderr}`)?.counts ?? null) : null;
    facts.push({ kind, command, exitCode, durationMs, tail, counts });
    await work.note({ kind: "checked", command, exitCode, durationMs, counts });
  }
  return facts;
}

/** As a shell says that a program is not there, or cannot be run. */
function isAbsent(exitCode: number): boolean {
  return exitCode === 127 || exitCode === 126;
}
