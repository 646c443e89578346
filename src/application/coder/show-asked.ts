import { type AskedFile, readAskedFile } from "../../domain/coder/asked-file.ts";
import type { LineRange } from "../../domain/coder/file-excerpts.ts";
import { requestTerms } from "../../domain/coder/context-request-terms.ts";
import { showFile, showLines } from "../../domain/coder/show-file.ts";
import { splitBudget } from "../../domain/coder/split-budget.ts";
import { LONGEST_FILE } from "./budget.ts";
import { type SearchedFiles, searchProject } from "./search-project.ts";

/** What a coder wants to see before it writes. */
export interface AskedContext {
  /** `path` or `path:from-to`. */
  readonly files: readonly string[];
  readonly searches: readonly string[];
}

const SEARCH_CHARS = 6_000;
const MOST_LISTED_NAMES = 20_000;

/** The answer to what a coder asked for: the budget is split over all of it, and what was cut says what to ask for next. */
export function showAsked(
  project: SearchedFiles,
  { files, searches }: AskedContext,
  { request, limit }: { readonly request: string; readonly limit: number },
): string {
  const terms = requestTerms(request);
  const found = searches.map((pattern) =>
    searchProject(project, { pattern }, Math.min(SEARCH_CHARS, limit / (searches.length + 1))),
  );
  const left = limit - found.reduce((sum, text) => sum + text.length, 0);
  const read = files.map((text) => {
    const asked = resolveAskedFile(project, text);
    return { ...asked, text: project.read(asked.path, LONGEST_FILE)?.text ?? null };
  });
  const shares = splitBudget(
    read.map(({ text, lines }) =>
      text === null ? 0 : lines === undefined ? text.length : lengthOf(text, lines),
    ),
    left,
  );
  const shown = read.map(({ path, lines, text }, at) => {
    if (text === null) return wordMissingFile(project, path);
    const share = shares[at] ?? 0;
    return lines === undefined
      ? showFile(path, text, { terms, limit: share, fill: true })
      : showLines(path, text, lines, share);
  });
  return [...found, ...shown].join("\n\n");
}

function lengthOf(text: string, { from, to }: LineRange): number {
  return text
    .split("\n")
    .slice(from - 1, to)
    .reduce((sum, line) => sum + line.length + 1, 0);
}

/** A path may end in what looks like a range. */
function resolveAskedFile(project: SearchedFiles, text: string): AskedFile {
  const plain = text.trim().replace(/^\.?\//, "");
  return project.read(plain, 1) === null ? readAskedFile(text) : { path: plain };
}

function wordMissingFile(project: SearchedFiles, path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const stem = name.replace(/\..*$/, "");
  const near = project
    .list(MOST_LISTED_NAMES)
    .filter((one) => stem.length > 2 && one.toLowerCase().includes(stem))
    .slice(0, 5);
  const hint = near.length === 0 ? "" : `; there are ${near.join(", ")}`;
  return `<file path="${path}">not there, or not to be shown${hint}</file>`;
}
