import { type FileKind, fileKind } from "../../domain/coder/file-kind.ts";
import { definitionsOf } from "../../domain/coder/outline.ts";
import { readSearchPattern } from "./search-pattern.ts";
import type { ProjectFiles } from "../ports/coder.ts";

export type SearchedFiles = Pick<ProjectFiles, "list" | "read" | "find">;

const MOST_SEARCHED = 20_000;
const MOST_READ = 400;
const SEARCH_MS = 300;
const LONGEST_SEARCHED_FILE = 400_000;
const LONGEST_LINE = 200;
const MOST_IN_A_FILE = 12;
const ORDER: readonly FileKind[] = ["source", "settings", "test", "docs", "fixture", "history"];

interface Match {
  readonly line: number;
  readonly text: string;
  readonly defines: boolean;
}

/** The lines of the project that match, definitions before uses and source before tests, within a budget; says what it left out. */
export function searchProject(
  project: SearchedFiles,
  { pattern, under = "" }: { readonly pattern: string; readonly under?: string },
  limit: number,
): string {
  const { matches, literal } = readSearchPattern(pattern);
  const all = project
    .list(MOST_SEARCHED)
    .filter((path) => isUnder(path, under) && fileKind(path) !== "generated");
  const paths =
    literal === null
      ? all
      : project
          .find(all, [{ spellings: [literal.toLowerCase(), literal], anyCase: true }], SEARCH_MS)
          .hits.map(({ path }) => path);
  const found = paths.slice(0, MOST_READ).flatMap((path) => {
    const lines = matchingLines(project, path, matches);
    return lines.length === 0 ? [] : [{ path, lines }];
  });
  found.sort(
    (a, b) =>
      Number(b.lines.some(({ defines }) => defines)) - Number(a.lines.some(({ defines }) => defines)) ||
      ORDER.indexOf(fileKind(a.path)) - ORDER.indexOf(fileKind(b.path)),
  );
  return wordMatches(pattern, found, limit, paths.length > MOST_READ);
}

function isUnder(path: string, folder: string): boolean {
  const plain = folder.replace(/^\.?\/|\/$/g, "");
  return plain === "" || plain === "." || path === plain || path.startsWith(`${plain}/`);
}

function matchingLines(project: SearchedFiles, path: string, matches: (line: string) => boolean): Match[] {
  const lines = (project.read(path, LONGEST_SEARCHED_FILE)?.text ?? "").split("\n");
  const hits = lines.flatMap((text, at) => (matches(text.slice(0, 2_000)) ? [at] : []));
  if (hits.length === 0) return [];
  const defined = new Set(definitionsOf(hits.map((at) => lines[at] as string)).map(({ line }) => line - 1));
  return hits.map((at, place) => ({
    line: at + 1,
    text: (lines[at] as string).trim().slice(0, LONGEST_LINE),
    defines: defined.has(place),
  }));
}

function wordMatches(
  pattern: string,
  found: readonly { readonly path: string; readonly lines: readonly Match[] }[],
  limit: number,
  unread: boolean,
): string {
  const out: string[] = [];
  let left = limit;
  let shownFiles = 0;
  for (const { path, lines } of found) {
    const shown = lines.slice(0, MOST_IN_A_FILE).map(({ line, text }) => `${line}: ${text}`);
    const more = lines.length - shown.length;
    const block = `${path}\n${shown.join("\n")}${more > 0 ? `\n… ${more} more` : ""}`;
    if (block.length > left) break;
    left -= block.length + 1;
    out.push(block);
    shownFiles++;
  }
  const missing = found.length - shownFiles;
  if (missing > 0)
    out.push(
      `… and ${missing} more files: ${found
        .slice(shownFiles, shownFiles + 10)
        .map(({ path }) => path)
        .join(", ")}`,
    );
  if (unread) out.push(`Only ${MOST_READ} files were looked into; search for something rarer.`);
  const total = found.reduce((sum, { lines }) => sum + lines.length, 0);
  return `<search pattern="${pattern}" lines="${total}" files="${found.length}">\n${out.join("\n") || "nothing found"}\n</search>`;
}
