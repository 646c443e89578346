import type { SolveOutcome, SolveTask } from "../../application/ports/tasks.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import { isRedCheck, taskVerdict } from "../../domain/tasks/solve-decisions.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { figuresOf } from "../../domain/tasks/task-steps.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import { type Flags, fail, printJson, refuseUsage, type Subcommand } from "./command.ts";
import { closing, openOrStop, usageText } from "./flags.ts";
import { createSolveProgress } from "./live-progress.ts";
import { type CliProgram, EXIT } from "./program.ts";

const MOST_CANDIDATES = 5;

/** `solve URL`: one issue, PR or MR, from reading it to its pull request. */
export const command: Subcommand = {
  name: "solve",
  usage: "solve URL",
  flags: "--worker= --candidates= --fresh",
  words: 1,
  run: solve,
};

async function solve(program: CliProgram, { values, words }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, program.openSolve);
  await using _ = closing(opened);
  const [url] = words;
  if (url === undefined) return refuseUsage(program, usageText(program, command));
  const candidates = Number(values.candidates ?? 1);
  if (!Number.isInteger(candidates) || candidates < 1 || candidates > MOST_CANDIDATES)
    return refuseUsage(program, opened.texts.badCandidates);
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  const progress = createSolveProgress(program, opened.texts, {
    line: program.errIsTerminal && !program.json,
    words: !program.json,
    maxSteps: opened.config.tasks.max_steps,
    now: () => new Date(),
  });
  try {
    const worker = typeof values.worker === "string" ? values.worker : null;
    const fresh = values.fresh === true;
    const solved = await opened.solve({
      url,
      worker,
      candidates,
      fresh,
      signal: stop.signal,
      say: progress.say,
      onStep: progress.step,
    });
    progress.end();
    if (solved.status === "refused")
      return fail(program, { exitCode: solved.exitCode, code: "refused", text: solved.message });
    return report(program, solved, opened.texts);
  } finally {
    progress.end();
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

function report(program: CliProgram, solved: EndedSolve, texts: SolveMessages): number {
  const { task, steps } = solved;
  const figures = figuresOf(steps);
  if (program.json) {
    const { elapsedMs, inputTokens, outputTokens, costUsd, edited } = figures;
    const usage = snakeCased({ elapsedMs, usage: { inputTokens, outputTokens, costUsd }, edited }) as object;
    printJson(program, { ...taskJson(task), ...usage, record: snakeCased(steps) });
  } else {
    const { state, failure, pull } = task;
    if (state !== "waiting" && state !== "running") program.out(`${texts.ended[state]}\n`);
    if (state === "paused") program.out(`${texts.howToResume(itemUrl(task.item))}\n`);
    if (failure !== null) program.out(`${failure.message}\n`);
    if (pull !== null) program.out(`${texts.pullOpened(pull.url)}\n`);
    if (figures.answers > 0) program.out(`${texts.figures(figures)}\n`);
    if (pull !== null && task.checks.length === 0) program.out(`${texts.verdicts.unchecked}\n`);
    for (const check of task.checks) program.out(`${checkLines(check, texts).join("\n")}\n`);
  }
  return task.state === "done" ? EXIT.done : EXIT.failed;
}

/** How a check ended; of a red one what was red before, and what it printed. */
function checkLines(check: SolveTask["checks"][number], texts: SolveMessages): string[] {
  const { command, exitCode, durationMs, counts, since, asCloned = [], output } = check;
  const isRed = isRedCheck(check);
  const seconds = (durationMs / 1000).toFixed(1);
  const line = texts.checkLine(command, { isRed, exitCode, seconds, tests: counts ?? null });
  const kept = asCloned.length === 0 ? [] : [texts.asCloned(asCloned)];
  if (!isRed) return [line, ...kept];
  return [
    line,
    ...kept,
    ...(since === undefined ? [] : [texts.since(since.verdict, since.worse)]),
    ...(output === undefined || output === "" ? [] : [output]),
  ];
}

type EndedSolve = Extract<SolveOutcome, { status: "ended" }>;

/** The task as the world reads it: snake_case, without the conversation. */
function taskJson(task: SolveTask): object {
  const { id, state, phase, branch, environment, steps, failure, notes } = task;
  const verdict = taskVerdict(task);
  const toRun = ({ command, exitCode, durationMs }: SolveTask["commands"][number]) => ({
    command,
    exit_code: exitCode,
    duration_ms: durationMs,
  });
  return {
    ...{ task_id: id, state, phase, branch, commit: task.pushed, pull_url: task.pull?.url ?? null },
    // Whether the project's own checks ran over the change, red or green.
    checked: verdict === "green" || verdict === "red",
    ...{ environment, steps, commands: task.commands.map(toRun) },
    checks: task.checks.map((check) => ({
      kind: check.kind,
      ...toRun(check),
      ...(check.exitCode !== 0 && { output: check.output ?? "", since: check.since ?? null }),
    })),
    ...{ failure, notes, spent_ms: task.spent },
  };
}
