/**
 * Reads the files in which a project says how it is tested, beside its declared check: CI, task runners, documents. In: the workspace
 * as it is before the change, and texts of the request and of the coder. Out: commands that may judge, in the order of their sources.
 * Nothing runs here, and a file that cannot be read or parsed has no commands.
 */
import {
  ciTexts,
  readSources,
  runnerTexts,
  type SourcedCommand,
  type SourceName,
  type SourceText,
  scriptTexts,
  spokenTexts,
  taskTexts,
} from "../../domain/checks/command-sources.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { Said, SourceParsers } from "../ports/checks.ts";
import { type OpenChecksDeps, readProject, readSmallFile } from "./baseline.ts";

const WORKFLOWS = ".github/workflows";
const CI_FILES = [".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml"];
const TASK_FILES = ["tox.ini", "noxfile.py", "justfile", "Justfile", "Makefile"];
const DOCUMENTS = ["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md"];
const READ_BYTES = 256 * 1024;
const MOST_WORKFLOWS = 20;

type From = SourceText["from"];
type Reader = (text: string, from: From, yaml: SourceParsers["parseYaml"]) => readonly SourceText[];

const readCi: Reader = (text, from, parseYaml) => ciTexts(parseYaml(text), from);

/** The parsers are loaded where there is something to parse. */
export async function findSources(
  { files, said }: Pick<OpenChecksDeps, "files"> & { readonly said: readonly Said[] },
  parsers: () => Promise<SourceParsers>,
): Promise<readonly SourcedCommand[]> {
  const project = readProject(files);
  const read = (name: SourceName, paths: readonly string[], texts: Reader) =>
    paths.flatMap((file) => {
      const text = readSmallFile(files, file, READ_BYTES);
      return text === null ? [] : [{ text, from: { name, file }, texts }];
    });
  const isFolder = files.look(WORKFLOWS).kind === "directory";
  const workflows = isFolder ? files.list(WORKFLOWS).filter((name) => /\.ya?ml$/.test(name)) : [];
  const ci = [...workflows.slice(0, MOST_WORKFLOWS).map((name) => `${WORKFLOWS}/${name}`), ...CI_FILES];
  const own = [...scriptTexts(project), ...runnerTexts(project)];
  const written = [
    ...read("ci", ci, readCi),
    ...read("tasks", TASK_FILES, taskTexts),
    ...read("tasks", ["Taskfile.yml"], readCi),
    ...read("docs", DOCUMENTS, spokenTexts),
  ];
  const spoken = said.flatMap(({ name, text }) =>
    name === "ran" ? [{ from: { name }, text }] : spokenTexts(text, { name }),
  );
  if (own.length + written.length + spoken.length === 0) return [];
  const { parseShell, parseYaml } = await parsers();
  const texts = written.flatMap(({ text, from, texts }) => attemptOr([], () => texts(text, from, parseYaml)));
  return readSources([...own, ...texts, ...spoken], { files: project, parse: parseShell });
}
