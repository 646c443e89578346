import { fileKind } from "../../domain/coder/file-kind.ts";
import { type NamedFile, namedFiles } from "../../domain/coder/named-files.ts";
import { projectFacts } from "./project-facts.ts";
import { requestTerms } from "../../domain/coder/context-request-terms.ts";
import { showFile } from "../../domain/coder/show-file.ts";
import { splitBudget } from "../../domain/coder/split-budget.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import { type ContextBudget, LONGEST_FILE } from "./budget.ts";
import { guessFiles } from "./coder-context.ts";
import { readProjectRules } from "./project-rules.ts";
import { repositoryMap } from "./repository-map.ts";

export interface ContextRequest {
  readonly request: string;
  /** Files of the last job and of a failed patch: shown whatever the request says. */
  readonly recent?: readonly string[];
  readonly budget: ContextBudget;
}

const MOST_LISTED = 20_000;
/** Characters around each shown file: its element and its path. */
const AROUND_FILE = 30;
const MOST_WHOLE = 200;

/**
 * What a coder sees before the request, the lasting first: the project's rules and facts, a map, then files. The files
 * that the message names are shown as far as the budget goes. Where none is named, a small project is shown whole, and
 * of a larger one what the words of the request lead to. What was cut or left out is said.
 */
export function coderContext(
  project: ProjectFiles,
  { request, recent = [], budget }: ContextRequest,
): string {
  const paths = project.list(MOST_LISTED);
  const { whole, shown } = filesFor(project, paths, { request, recent, budget });
  const rules = readProjectRules(project, [...shown.keys()], budget.rules);
  for (const { path } of rules) shown.delete(path);
  const map = whole
    ? ""
    : repositoryMap(project, paths, { request, shown: new Set(shown.keys()), limit: budget.map });
  return [
    ...rules.map(({ path, text }) => `Project rules (${path}):\n${text}`),
    ...labelled("Project: ", wordProjectFacts(project)),
    ...labelled("Files of the workspace:\n", map),
    ...(whole ? ["All files of the workspace:"] : []),
    ...shown.values(),
  ].join("\n\n");
}

/** The files alone, by path: for whoever is told of the project in another way. */
export function pointedFiles(
  project: Pick<ProjectFiles, "list" | "read" | "find">,
  request: ContextRequest,
): ReadonlyMap<string, string> {
  return filesFor(project, project.list(MOST_LISTED), request).shown;
}

function filesFor(
  project: Pick<ProjectFiles, "read" | "find">,
  paths: readonly string[],
  { request, recent = [], budget }: ContextRequest,
): { readonly whole: boolean; readonly shown: Map<string, string> } {
  const named = namedFiles(request, paths);
  const whole = named.length === 0 ? wholeProject(project, paths, budget.whole) : null;
  return {
    whole: whole !== null,
    shown: whole ?? chosenFiles(project, { request, recent, budget }, paths, named),
  };
}

function labelled(label: string, text: string): string[] {
  return text === "" ? [] : [`${label}${text}`];
}

function wordProjectFacts(project: ProjectFiles): string {
  return projectFacts({ read: (name) => project.read(name, 50_000)?.text ?? null, has: project.has });
}

/** Every file by its element; null where they do not fit. */
function wholeProject(
  project: Pick<ProjectFiles, "read">,
  paths: readonly string[],
  limit: number,
): Map<string, string> | null {
  const wanted = paths.filter((path) => fileKind(path) !== "generated");
  if (wanted.length > MOST_WHOLE || wanted.length === 0) return null;
  const shown = new Map<string, string>();
  let left = limit;
  for (const path of wanted) {
    const file = project.read(path, left);
    if (file === null) continue;
    left -= file.text.length + path.length + AROUND_FILE;
    if (file.cut || left < 0) return null;
    shown.set(path, showFile(path, file.text, { terms: [], limit: Number.MAX_SAFE_INTEGER }));
  }
  return shown;
}

/** Recent files and named ones share the budget of what was asked for; guesses have one of their own. */
function chosenFiles(
  project: Pick<ProjectFiles, "read" | "find">,
  { request, recent = [], budget }: ContextRequest,
  paths: readonly string[],
  named: readonly NamedFile[],
): Map<string, string> {
  const terms = requestTerms(request);
  const asked = [
    ...named,
    ...recent.filter((path) => !named.some((one) => one.path === path)).map((path) => ({ path, lines: [] })),
  ].flatMap(({ path, lines }) => {
    const file = project.read(path, LONGEST_FILE);
    return file === null ? [] : [{ path, lines, text: file.text }];
  });
  const shares = splitBudget(
    asked.map(({ text }) => text.length),
    budget.files,
  );
  const shown = new Map<string, string>();
  for (const [at, { path, lines, text }] of asked.entries()) {
    const limit = shares[at] ?? 0;
    shown.set(path, showFile(path, text, { terms, limit, focus: lines, fill: true }));
  }
  const guessed = guessFiles(project, { request, terms, paths, asked, budget: budget.guessed });
  for (const [path, element] of guessed) shown.set(path, element);
  return shown;
}
