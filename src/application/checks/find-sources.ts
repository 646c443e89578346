/**
 * Reads the files in which a project says how it is tested, beside its declared check: CI, task runners, documents. In: the workspace
 * as it is before the change, and texts of the request and of the coder. Out: commands that may judge, in the order of their sources.
 * Nothing runs here, and a file that cannot be read or parsed has no commands.
 */
import {
  ciTexts,
  hookTexts,
  readSources,
  runnerTexts,
  type SourcedCommand,
  type SourceName,
  type SourceText,
  scriptTexts,
  spokenTexts,
  taskTexts,
} from "../../domain/checks/command-sources.ts";
import { findToolCalls, type ToolCall } from "../../domain/checks/tool-errors.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { Said, SourceParsers } from "../ports/checks.ts";
import { type OpenChecksDeps, readProject, readSmallFile } from "./baseline.ts";

const WORKFLOWS = ".github/workflows";
const CI_FILES = [".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml"];
const TASK_FILES = ["tox.ini", "noxfile.py", "justfile", "Justfile", "Makefile"];
const HOOKS = ".pre-commit-config.yaml";
const DOCUMENTS = ["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md"];
const READ_BYTES = 256 * 1024;
const MOST_WORKFLOWS = 20;

type From = SourceText["from"];
type Reader = (text: string, from: From, yaml: SourceParsers["parseYaml"]) => readonly SourceText[];

const readCi: Reader = (text, from, parseYaml) => ciTexts(parseYaml(text), from);

interface WrittenText {
  readonly text: string;
  readonly from: From;
  readonly texts: Reader;
}

function readFiles(
  files: OpenChecksDeps["files"],
  name: SourceName,
  paths: readonly string[],
  texts: Reader,
) {
  return paths.flatMap((file): WrittenText[] => {
    const text = readSmallFile(files, file, READ_BYTES);
    return text === null ? [] : [{ text, from: { name, file }, texts }];
  });
}

/** The commands that CI and task runners execute. */
function readRuns(files: OpenChecksDeps["files"]): readonly WrittenText[] {
  const isFolder = files.look(WORKFLOWS).kind === "directory";
  const workflows = isFolder ? files.list(WORKFLOWS).filter((name) => /\.ya?ml$/.test(name)) : [];
  const ci = [...workflows.slice(0, MOST_WORKFLOWS).map((name) => `${WORKFLOWS}/${name}`), ...CI_FILES];
  return [
    ...readFiles(files, "ci", ci, readCi),
    ...readFiles(files, "tasks", TASK_FILES, taskTexts),
    ...readFiles(files, "tasks", ["Taskfile.yml"], readCi),
  ];
}

const readTexts = (written: readonly WrittenText[], parseYaml: SourceParsers["parseYaml"]) =>
  written.flatMap(({ text, from, texts }) => attemptOr([], () => texts(text, from, parseYaml)));

/** The parsers are loaded where there is something to parse. */
export async function findSources(
  { files, said }: Pick<OpenChecksDeps, "files"> & { readonly said: readonly Said[] },
  parsers: () => Promise<SourceParsers>,
): Promise<readonly SourcedCommand[]> {
  const project = readProject(files);
  const own = [...scriptTexts(project), ...runnerTexts(project)];
  const written = [...readRuns(files), ...readFiles(files, "docs", DOCUMENTS, spokenTexts)];
  const spoken = said.flatMap(({ name, text }) =>
    name === "ran" ? [{ from: { name }, text }] : spokenTexts(text, { name }),
  );
  if (own.length + written.length + spoken.length === 0) return [];
  const { parseShell, parseYaml } = await parsers();
  const texts = readTexts(written, parseYaml);
  return readSources([...own, ...texts, ...spoken], { files: project, parse: parseShell });
}

/** The type checkers and linters that the declared checks, scripts, CI and hooks call, and those of Python that are only configured. */
export async function findTools(
  files: OpenChecksDeps["files"],
  declared: readonly string[],
  parsers: () => Promise<SourceParsers>,
): Promise<readonly ToolCall[]> {
  const project = readProject(files);
  const { names, texts: known } = project;
  const settings = [known["pyproject.toml"], known["setup.cfg"]].join("\n");
  const isSetUp = (name: string) =>
    names.some((one) => one === `${name}.ini` || one === `.${name}.ini` || one === `${name}config.json`) ||
    new RegExp(`^\\[(?:tool\\.)?${name}\\]`, "m").test(settings);
  const written = [...readRuns(files), ...readFiles(files, "tasks", [HOOKS], hookTexts)];
  const scripts = scriptTexts(project, /./);
  const set = ["mypy", "pyright"].filter(isSetUp);
  if (scripts.length + written.length + set.length + declared.length === 0) return [];
  const { parseShell, parseYaml } = await parsers();
  const texts: SourceText[] = [
    ...declared.map((text) => ({ from: { name: "script" as const }, text })),
    ...scripts,
    ...readTexts(written, parseYaml),
    ...set.map((text) => ({ from: { name: "runner" as const }, text })),
  ];
  return findToolCalls(texts, { files: project, parse: parseShell });
}
