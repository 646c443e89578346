import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { TaskEnvironment } from "../ports/task-environments.ts";
import { failedInstallWords } from "./failed-installs.ts";
import { foundChecks } from "./found-checks.ts";
import { isShownFiles, showPointed } from "./show-pointed.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";

const FILES_SHOWN = 400;
const RULES_CHARS = 20_000;
/** What people wrote is quoted line by line, so none of it holds this. */
const PROJECT_HEADING = "# The project\n\nIt lies in the current folder";
const SETTINGS = "picoclaw.yaml";
const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];

/**
 * Tells the coder what it would have to look for in its first steps: the plan, the files, the project's own rules, what is going
 * to judge its change, and an installation that failed. A fork's files are a stranger's: its rules are not taken for ours.
 */
export async function showProject(
  parts: SolveDeps,
  work: SolveWork,
  environment: TaskEnvironment,
): Promise<void> {
  const { config, mask } = parts;
  const { task, item, signal } = work;
  const read = (path: string) => readText(environment, path, signal);
  const files = await trackedFiles(environment, signal);
  const isFork = item.pull !== undefined && item.pull.sourceRepository !== item.ref.repository;
  const own =
    isFork || !files.includes(SETTINGS)
      ? { rules: [], checkCommand: null }
      : await parts.readSettings(await read(SETTINGS));
  const ruleFile = isFork ? undefined : RULE_FILES.find((name) => files.includes(name));
  const checks = await foundChecks(environment, own.checkCommand ?? config.testCommand, signal);
  const pointed = await showPointed(parts, work, environment);
  const { plan } = task;
  const sections = [
    ...(plan === null ? [] : ["# Plan", plan.steps.map((step, i) => `${i + 1}. ${step}`).join("\n")]),
    `${PROJECT_HEADING}, at commit ${environment.baseCommit.slice(0, 12)}, in the environment \`${environment.name}\`.`,
    ...(ruleFile === undefined ? [] : [`## ${ruleFile}`, cutMiddle(mask(await read(ruleFile)), RULES_CHARS)]),
    ...(own.rules.length === 0
      ? []
      : [`## Rules of ${SETTINGS}`, own.rules.map((rule) => `- ${rule}`).join("\n")]),
    "## Checks",
    checks.length === 0
      ? "No tests or linters were found; your own commands are the only judge."
      : `These judge your change when you are done: ${checks.map(({ command }) => `\`${command}\``).join(", ")}.`,
    ...(await failedInstallWords(environment, mask, signal)),
    "## Files",
    fileList(files),
  ];
  await work.update({
    checkCommand: own.checkCommand,
    // Shown once, also where a process died right after it.
    transcript: [
      ...task.transcript.filter(
        (message) => !message.text.includes(PROJECT_HEADING) && !isShownFiles(message),
      ),
      { role: "user", text: sections.join("\n\n") },
      ...pointed,
    ],
  });
}

/** What is nearest the root first; how many are missing at the end. */
export function fileList(files: readonly string[]): string {
  const depth = (path: string) => path.split("/").length;
  const shown = [...files].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1)).slice(0, FILES_SHOWN);
  const left = files.length - shown.length;
  return [...shown, ...(left > 0 ? [`… and ${left} more`] : [])].join("\n");
}

async function trackedFiles(environment: TaskEnvironment, signal: AbortSignal): Promise<readonly string[]> {
  const { stdout } = await environment.run("git ls-files -z", signal);
  return stdout.split("\0").filter((path) => path !== "");
}

async function readText(environment: TaskEnvironment, path: string, signal: AbortSignal): Promise<string> {
  const { exitCode, stdout } = await environment.run(`cat ./${path}`, signal);
  return exitCode === 0 ? stdout : "";
}
