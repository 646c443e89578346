import {
  npmPackages,
  requirementLines,
  requirementName,
  scriptPrograms,
} from "../../domain/containers/dependency-plan.ts";
import { refusedText } from "../../domain/containers/preparation.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { openChecks } from "../checks/baseline.ts";
import { coderContext, contextBudget } from "../coder/coder-context.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import type { FailedInstall, TaskEnvironment } from "../ports/tasks.ts";
import { createTaskMemory } from "./container-environments.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";

const INSTALL_CHARS = 4000;
const MOST_NAMED = 30;
const MOST_ASKED = 100;
/** Where a project says that its tests want pytest. */
const PYTEST_FILES = "pyproject.toml setup.cfg tox.ini pytest.ini conftest.py tests/conftest.py";

/** Where dependencies are missing, a coder has to know why, and which; where no installation failed, nothing is said. */
export async function failedInstallWords(
  environment: Pick<TaskEnvironment, "failedInstalls" | "run">,
  mask: SolveDeps["mask"],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { failedInstalls } = environment;
  if (failedInstalls.length === 0) return [];
  return [
    ...failedInstalls.flatMap((failed) => failedInstallText(failed, mask)),
    ...(await missingWords(environment.run, signal)),
    "Fix the installation only if the task is about it; otherwise work without what is missing, and say so.",
  ];
}

function failedInstallText(
  { command, output, refused, leftOut }: FailedInstall,
  mask: SolveDeps["mask"],
): string[] {
  return [
    "## An installation failed",
    `$ ${command}\n${cutMiddle(mask(output), INSTALL_CHARS)}`,
    ...(refused.length === 0 ? [] : [refusedText(refused)]),
    ...(leftOut === null
      ? []
      : [`PicoClaw then installed the rest by itself, without: ${leftOut.join(", ") || "none"}.`]),
  ];
}

/** The parts missing as a result: programs that the checks start, and packages that the project names. */
async function missingWords(run: TaskEnvironment["run"], signal: AbortSignal): Promise<readonly string[]> {
  const read = async (file: string) => (await run(`cat ./${file} 2>/dev/null`, signal)).stdout;
  const absent = async (names: readonly string[], test: string): Promise<readonly string[]> => {
    if (names.length === 0) return [];
    const list = names.map((name) => `'${name}'`).join(" ");
    const { stdout } = await run(`for one in ${list}; do ${test} || echo "$one"; done`, signal);
    return stdout.split("\n").filter((line) => names.includes(line));
  };
  const manifest = await read("package.json");
  const required = requirementLines(await read("requirements*.txt")).map(requirementName);
  const { exitCode: wantsPytest } = await run(`grep -qs pytest ${PYTEST_FILES}`, signal);
  const asked = [...new Set([...required, ...(wantsPytest === 0 ? ["pytest"] : [])])].slice(0, MOST_ASKED);
  const programs = await absent(
    scriptPrograms(manifest),
    '[ -x "node_modules/.bin/$one" ] || command -v "$one" >/dev/null 2>&1',
  );
  const packages = await absent([...npmPackages(manifest).keys()], '[ -d "node_modules/$one" ]');
  const modules = await absent(
    asked,
    '"$(command -v python || command -v python3)" -c "import importlib.metadata as m, sys; m.distribution(sys.argv[1])" "$one" >/dev/null 2>&1',
  );
  const lines = [
    ["Programs that scripts of package.json start, and that do not exist", programs],
    ["Packages of package.json that are not installed", packages],
    ["Python packages that the project needs and that are not installed", modules],
  ] as const;
  return lines.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what}: ${listNames(names)}.`]));
}

function listNames(names: readonly string[]): string {
  const left = names.length - MOST_NAMED;
  return [
    ...names.slice(0, MOST_NAMED).map((name) => `\`${name}\``),
    ...(left > 0 ? [`… and ${left} more`] : []),
  ].join(", ");
}

/** Text that people wrote is quoted line by line, so none of it begins with this. */
const POINTED_HEADING = "# Files that the task seems to be about";

/**
 * The context that a coder in a chat sees before its request: an outline, and the files that the words of the issue and its
 * comments lead to, with their tests, so that its first step need not look for them. Nothing for a worker CLI, which looks for
 * itself.
 */
function showPointed(
  { model, mask, advise }: SolveDeps,
  { task }: SolveWork,
  project: ProjectFiles,
): readonly ModelMessage[] {
  const coder = model();
  if (task.worker !== null || !("generate" in coder)) return [];
  const request = peopleWords(task.title, task.transcript);
  const shown = advise("pointed files", "", () =>
    coderContext(withoutRules(project), { request, budget: contextBudget(coder, "full"), advise }),
  );
  if (shown === "") return [];
  const heading = `${POINTED_HEADING}\n\nAs they were cloned. What was left out is marked; the tools show the rest.`;
  return [{ role: "user", text: mask(`${heading}\n\n${shown}`) }];
}

/** Rules are listed separately from files; those of an untrusted project are left out. */
function withoutRules(project: ProjectFiles): ProjectFiles {
  const isRule = (path: string) => RULE_FILES.some((name) => path === name || path.endsWith(`/${name}`));
  return {
    ...project,
    list: (limit) => project.list(limit).filter((path) => !isRule(path)),
    read: (path, limitChars) => (isRule(path) ? null : project.read(path, limitChars)),
  };
}

/** Whether a message is that one: it is the first to go where a conversation is too long. */
export function isShownFiles({ role, text }: ModelMessage): boolean {
  return role === "user" && text.startsWith(POINTED_HEADING);
}

/** The words of people; ours around them point nowhere. */
function peopleWords(title: string, transcript: readonly ModelMessage[]): string {
  const lines = transcript.flatMap(({ role, text }) => (role === "user" ? text.split("\n") : []));
  const where = lines.flatMap((line) => /^\S+ on (\S+:\d+|\S+):$/.exec(line)?.[1] ?? []);
  const said = lines.filter((line) => line.startsWith("> ")).map((line) => line.slice(2));
  return [title, ...said, ...where].join("\n");
}

const FILES_SHOWN = 400;
const RULES_CHARS = 32_768;
const MOST_FOLDER_RULES = 20;
/** Text that people wrote is quoted line by line, so none of it contains this. */
const PROJECT_HEADING = "# The project\n\nIt is in the current folder";
const SETTINGS = "picoclaw.yaml";
const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];

/**
 * Tells the coder what it would have to look for in its first steps: the plan, the files, the project's own rules, what is going
 * to judge its change, and an installation that failed. A fork's files are a stranger's: its rules are not taken for ours.
 */
export async function showProject(
  deps: SolveDeps,
  work: SolveWork,
  environment: TaskEnvironment,
): Promise<void> {
  const { config, mask } = deps;
  const { task, item, signal } = work;
  const { files: source } = environment.workspace;
  const read = (path: string) => readText(source, path);
  const project = environment.projectOf(source);
  const files = project.list(MOST_LISTED);
  const isFork = item.pull !== undefined && item.pull.sourceRepository !== item.ref.repository;
  const own =
    isFork || source.look(SETTINGS).kind !== "file"
      ? { rules: [], checkCommand: null }
      : await deps.readSettings(read(SETTINGS));
  const ruleFile = isFork ? undefined : RULE_FILES.find((name) => files.includes(name));
  const checks = findCommands(deps, source, own.checkCommand ?? config.testCommand);
  const pointed = showPointed(deps, work, project);
  const { plan } = task;
  const sections = [
    ...(plan === null ? [] : ["# Plan", plan.steps.map((step, i) => `${i + 1}. ${step}`).join("\n")]),
    `${PROJECT_HEADING}, at commit ${environment.baseCommit.slice(0, 12)}, in the environment \`${environment.name}\`.`,
    ...(ruleFile === undefined ? [] : [`## ${ruleFile}`, cutMiddle(mask(read(ruleFile)), RULES_CHARS)]),
    ...(isFork ? [] : folderRules(files)),
    ...(own.rules.length === 0
      ? []
      : [`## Rules of ${SETTINGS}`, own.rules.map((rule) => `- ${rule}`).join("\n")]),
    "## Checks",
    checks.length === 0
      ? "No tests or linters were found; your own commands are the only judge."
      : `These judge your change when you are done: ${checks.map((command) => `\`${command}\``).join(", ")}.`,
    ...(await failedInstallWords(environment, mask, signal)),
    // The context has an outline of them.
    ...(pointed.length > 0 ? [] : ["## Files", fileList(files)]),
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

/** Rules that hold below a folder are named: which of them matter shows when files are changed. */
function folderRules(files: readonly string[]): string[] {
  const found = files.filter((path) => /\/(?:AGENTS|CLAUDE)\.md$/.test(path));
  if (found.length === 0) return [];
  const left = found.length - MOST_FOLDER_RULES;
  const named = found.slice(0, MOST_FOLDER_RULES).join(", ");
  return [
    `Folders with rules of their own; read them before you change files there: ${named}${left > 0 ? ` … and ${left} more` : ""}`,
  ];
}

/** Files nearest the root first; the number of omitted files at the end. */
export function fileList(files: readonly string[]): string {
  const depth = (path: string) => path.split("/").length;
  const shown = [...files].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1)).slice(0, FILES_SHOWN);
  const left = files.length - shown.length;
  return [...shown, ...(left > 0 ? [`… and ${left} more`] : [])].join("\n");
}

const MOST_LISTED = 20_000;

/** The checks that are going to judge, as people call them. */
function findCommands(
  { config, now }: SolveDeps,
  files: WorkspaceFiles,
  command: string | null,
): readonly string[] {
  const settings = { ...config.checks, command };
  const memory = createTaskMemory("");
  const found = openChecks({ files, settings, memory, now: () => now().getTime() });
  return found.ok ? found.checks.map((check) => check.command) : found.commands;
}

function readText(files: WorkspaceFiles, path: string): string {
  return files.look(path).kind === "file" ? new TextDecoder().decode(files.read(path)) : "";
}
