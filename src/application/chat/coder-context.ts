import type { ProjectFiles } from "./parts.ts";
import { repositoryMap } from "./repository-map.ts";

/** Characters of each kind of context. */
export interface ContextBudget {
  readonly rules: number;
  readonly map: number;
  readonly files: number;
}

const CONTEXT = {
  cloud: { rules: 6_000, map: 4_000, files: 60_000 },
  local: { rules: 3_000, map: 2_000, files: 16_000 },
  small: { rules: 1_500, map: 1_000, files: 8_000 },
} as const satisfies Readonly<Record<string, ContextBudget>>;

/** Local windows are small (`ollama.max_context`), and a request that does not fit costs a second one. */
export function contextBudget(model: { readonly local: boolean }, size: "full" | "small"): ContextBudget {
  return size === "small" ? CONTEXT.small : model.local ? CONTEXT.local : CONTEXT.cloud;
}

/** Of files that nobody named, only guessed. */
const GUESSED = 12_000;

/** Characters of a request that are searched for names; a pasted log of a megabyte names its files early or not at all. */
const SEARCHED = 20_000;
const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];
const MOST_LISTED = 5_000;

/**
 * What a coder sees beside the request: the project's rules, the files that the message names, and a map of the
 * others, within a budget. A file that had to be cut says so, and where nothing is named the likeliest are shown.
 */
export function coderContext(
  project: ProjectFiles,
  message: string,
  wanted: readonly string[],
  budget: ContextBudget,
): string {
  const request = message.slice(0, SEARCHED);
  const paths = project.list(MOST_LISTED);
  const parts: string[] = [];
  for (const path of RULE_FILES) {
    const rules = project.read(path, budget.rules);
    if (rules === null || rules.text.trim() === "") continue;
    parts.push(`Project rules (${path}):\n${rules.text.trim()}`);
    break;
  }
  const named = [...new Set([...wanted.map(tidy), ...namedIn(request, paths)])];
  const shown: string[] = [];
  let left = named.length > 0 ? budget.files : Math.min(budget.files, GUESSED);
  for (const path of named.length > 0 ? named : likely(request, paths)) {
    if (left < 200 || RULE_FILES.includes(path)) continue;
    const file = project.read(path, left);
    if (file === null) {
      if (wanted.includes(path)) shown.push(`<file path="${path}">not there, or not to be shown</file>`);
      continue;
    }
    left -= file.text.length;
    shown.push(
      `<file path="${path}"${file.cut ? ' cut="true"' : ""}>\n${file.text}${file.text.endsWith("\n") ? "" : "\n"}</file>`,
    );
  }
  const map = repositoryMap(project, paths, { request, shown: new Set(named), limit: budget.map });
  if (map !== "") parts.push(`Files of the workspace:\n${map}`);
  parts.push(...shown);
  return parts.join("\n\n");
}

/** Paths that the message names, whole, by their end or by their file name, in the order of the message. */
export function namedIn(request: string, paths: readonly string[]): string[] {
  const tokens = request.match(/[\p{L}\p{N}_./@[\]()+-]*[\p{L}\p{N}_)\]]/gu) ?? [];
  const found: string[] = [];
  for (const token of new Set(tokens.flatMap(readings))) {
    const exact = paths.filter((path) => path === token);
    const ending = exact.length > 0 ? exact : paths.filter((path) => path.endsWith(`/${token}`));
    if (ending.length > 0 && ending.length <= 3) found.push(...ending);
  }
  return [...new Set(found)].slice(0, 12);
}

/** A token is tried as written and without what Japanese and Markdown put around a name. */
function readings(token: string): string[] {
  const plain = tidy(token);
  if (!/[./]/.test(plain) && !/^[A-Z][A-Za-z]+$/.test(plain)) return [];
  const ascii = /[\x21-\x7e]+\.[A-Za-z0-9]+/.exec(plain)?.[0];
  return ascii === undefined || ascii === plain ? [plain] : [plain, ascii];
}

function tidy(path: string): string {
  return path.replace(/^\.?\//, "").replace(/[.,:;)\]]+$/, "");
}

/** Without a name: the files whose path shares most words with the message, when there are few such. */
function likely(request: string, paths: readonly string[]): string[] {
  const words = new Set((request.toLowerCase().match(/[a-z0-9]{3,}/g) ?? []).map(stem));
  if (words.size === 0) return [];
  return paths
    .map((path) => ({
      path,
      score: (path.toLowerCase().match(/[a-z0-9]{3,}/g) ?? []).filter((word) => words.has(stem(word))).length,
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length)
    .slice(0, 4)
    .map(({ path }) => path);
}

function stem(word: string): string {
  return word.replace(/(?:ing|ed|es|s)$/, "");
}
