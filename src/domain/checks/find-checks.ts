import type { CheckRung, FoundCommand, ProjectCheck, ProjectFiles } from "./runners/check-runner.ts";
import { runnerOfScript, scriptOfTests } from "./runners/package-scripts.ts";
import { CHECK_RUNNERS } from "./runners/registry.ts";

export type { CheckRung, ProjectCheck, ProjectFiles };

/** Files whose text `findChecks` reads. */
export const READ_FOR_CHECKS: readonly string[] = [
  ...new Set(CHECK_RUNNERS.flatMap(({ reads = [] }) => reads)),
];

const PLAIN_PROGRAMS = new Set(CHECK_RUNNERS.flatMap(({ programs = [] }) => programs));

/** The program that a line needs; null if it does not show it: the project itself may provide any other first word. */
export function neededProgram(line: string): string | null {
  const [first = ""] = line.replace(/^.*; reports -delete; /, "").split(" ", 1);
  return PLAIN_PROGRAMS.has(first) ? first : null;
}

/** The command that installs what the project's checks need, as its own files say; null where they do not. */
export function findInstall(files: ProjectFiles): string | null {
  for (const runner of CHECK_RUNNERS) {
    const found = runner.findInstall?.(files) ?? null;
    if (found !== null) return found;
  }
  return null;
}

/** At most one test and one linter, tests first, by the project's files; `configured` (`checks.command`) replaces the tests. */
export function findChecks(files: ProjectFiles, configured: string | null): readonly ProjectCheck[] {
  const test = configured === null ? findBy("findTest", files) : { command: configured };
  const lint = findBy("findLint", files);
  const isScript = configured === null || /^(?:npm|pnpm|yarn|bun)(?: run)? test$/.test(configured);
  const runner = isScript ? runnerOfScript(files) : null;
  const script = isScript ? scriptOfTests(files) : null;
  return [
    ...(test === null
      ? []
      : [
          {
            kind: "test" as const,
            line: test.command,
            ...test,
            ...(runner !== null && runner !== test.line && { runner }),
            ...(script !== null && BY_MANAGER.test(test.command) && { script }),
          },
        ]),
    ...(lint === null ? [] : [{ kind: "lint" as const, line: lint.command, ...lint }]),
  ];
}

/** A command that calls a script by its name, without showing what the script runs. */
const BY_MANAGER = /^(?:npm|pnpm|yarn|bun) /;

function findBy(question: "findTest" | "findLint", files: ProjectFiles): FoundCommand | null {
  for (const runner of CHECK_RUNNERS) {
    const found = runner[question]?.(files) ?? null;
    if (found !== null) return found;
  }
  return null;
}

/** These change files on purpose. */
const WRITING_FLAGS = /(?:^| )(?:--fix\S*|-u|--update\S*|--write|-w|--coverage-report\S*)(?: |$)/;

const toPlainCall = (script: string) =>
  script
    .trim()
    .replace(/ 2>&1$/, "")
    .replace(/^python3 /, "python ");

/** The check that a script calls by another spelling of the same line. */
export function findCalledCheck<Check extends ProjectCheck>(
  script: string,
  checks: readonly Check[],
): Check | undefined {
  const line = toPlainCall(script);
  return checks.find((check) => line === toPlainCall(check.command) || line === check.line);
}

/** The variables that a check's line sets before its first call, after the path and the builds that PicoClaw puts there. */
const SETTINGS =
  /^(?:export PATH="[^"]*"; )?(?:\{.*?; \} \|\| exit; )?(?:cross-env +)?((?:[A-Za-z_]\w*=(?:"[^"]*"|[^\s"'`;|&$()<>]+) +)+)/;

/** A command that finds the variables, the modules and the programs that the checks find. */
export function withSettingsOf(checks: readonly ProjectCheck[], command: string): string {
  const set = checks.flatMap(({ line, runner = line }) => SETTINGS.exec(runner)?.[1] ?? []);
  return `export ${set.join("")}PATH="$PWD/node_modules/.bin:$PWD/.venv/bin:$PWD/venv/bin:$PATH"; ${command}`;
}

/** What may be around a call of tests without printing text of its own. */
const SILENT_PART = /^(?:cd(?: \S+)?|export \S+|set [-+]\S+(?: \S+)?|(?:tail|head)(?: -\S+| \d+)*|true)$/;

/** Whether all that a script prints is the output of test runners or linters: it may also change its folder and keep the last lines. */
export function isTestRun(script: string): boolean {
  if (/["'`<>]|\$\(/.test(script.replaceAll("2>&1", ""))) return false;
  const parts = script
    .replaceAll("2>&1", "")
    .split(/&&|\|\|?|;|\n/)
    .map((part) => toPlainCall(part).replace(/^(?:[A-Za-z_]\w*=\S* +)+/, ""))
    .filter((part) => part !== "" && !SILENT_PART.test(part));
  const isCall = (part: string) => CHECK_RUNNERS.some(({ calls }) => calls?.some((call) => call.test(part)));
  return parts.length > 0 && parts.every(isCall);
}

/** Whether a script is one plain call of the project's tests or linters, which runs for its output and not for the files that it writes. */
export function isKnownCheck(script: string, checks: readonly ProjectCheck[]): boolean {
  if (findCalledCheck(script, checks) !== undefined) return true;
  const line = toPlainCall(script);
  if (/[\n;&|<>`]|\$\(/.test(line) || WRITING_FLAGS.test(line)) return false;
  return CHECK_RUNNERS.some(({ calls }) => calls?.some((call) => call.test(line)));
}
