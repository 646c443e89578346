/**
 * A coder's search: a pattern, a place and a budget of characters in, the matching lines in words out.
 * All files of the place are read, within a time. A file with a hit is shown or at least counted by its folder, lines and files
 * that are left out are counted, and a pattern that is read in another way than it is written, a time that ran out and a search that
 * was widened are stated: a coder takes "nothing found" for a fact.
 */
import { definitionsOf, endOf } from "../../domain/coder/file-excerpts.ts";
import { type FileKind, fileKind } from "../../domain/coder/rank-files.ts";
import { compileGlob } from "../../domain/platform/glob.ts";
import { lastPathName } from "../../domain/platform/ignore-rules.ts";
import { compileLinePattern } from "../../domain/platform/line-pattern.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import type { ProjectFiles } from "../ports/drafts.ts";

export type SearchedFiles = Pick<ProjectFiles, "list" | "read" | "find">;

export interface SearchRequest {
  readonly pattern: string;
  /** Only below this folder. */
  readonly under?: string;
  /** Lines to show on either side of a match. */
  readonly context?: number;
  /** Files with matches that were shown before. */
  readonly skipFiles?: number;
}

/** Flags of other languages at the beginning of a pattern. Lines are matched one by one, so most of them change nothing. */
const FLAGS = /^\(\?([a-zA-Z]+)\)/;
const KNOWN_FLAGS = /^[imsug]+$/;
/** Longer lines are matched only so far. */
const MATCHED_CHARS = 20_000;

interface LinePattern {
  /** Where the line matches; -1 if it does not. */
  readonly indexIn: (line: string) => number;
  /** Each match contains one of them; null if that is not certain. */
  readonly literals: readonly string[] | null;
  readonly ignoresCase: boolean;
  readonly isText: boolean;
  readonly text: string;
  readonly source: string;
  /** How it is read, if not as it is written. */
  readonly note: string;
}

/** The characters that make a text an expression. */
const MARKS = /[\\^$.*+?()[\]{}|]/;

interface ReadingOptions {
  readonly anyCase?: boolean;
  /** The pattern is no expression. */
  readonly asText?: boolean;
}

/** Reads a search as a safe regular expression, else as a text; lower case alone matches any case. Words, where it cannot be carried out. */
function readPattern(written: string, { anyCase, asText }: ReadingOptions): LinePattern | string {
  const given = FLAGS.exec(written)?.[1] ?? "";
  if (given !== "" && !KNOWN_FLAGS.test(given))
    return `(?${given}) is not a flag here; (?i), (?m), (?s) and (?u) are`;
  const text = given === "" ? written : written.slice(given.length + 3);
  if (text === "") return "the pattern is empty";
  const ignoresCase = anyCase === true || given.includes("i") || text === text.toLowerCase();
  let why = "";
  if (asText !== true && MARKS.test(text)) {
    try {
      // Python's names of groups and the ends of a text, which JavaScript would take for letters.
      const source = text
        .replace(/\(\?P</g, "(?<")
        .replace(/\\A/g, "^")
        .replace(/\\[zZ]/g, "$");
      const pattern = compileLinePattern(source, ignoresCase ? "i" : "");
      const indexIn = (line: string) => pattern.indexIn(line.slice(0, MATCHED_CHARS));
      return { indexIn, literals: literalsOf(source), ignoresCase, isText: false, text, source, note: "" };
    } catch (cause) {
      // A call such as `add(` is searched for literally.
      why = /^[^()]*\($/.test(text) ? "" : (cause as Error).message;
    }
  }
  const wanted = ignoresCase ? text.toLowerCase() : text;
  return {
    indexIn: (line) => (ignoresCase ? line.toLowerCase() : line).indexOf(wanted),
    literals: [text],
    ignoresCase,
    isText: true,
    text,
    source: RegExp.escape(text),
    note: why === "" ? "" : `searched as a text, because it is not a usable expression: ${why}`,
  };
}

/** For each alternative the longest run of letters that its matches contain; null if one has none. */
function literalsOf(source: string): string[] | null {
  const found: string[] = [];
  for (const branch of alternativesOf(source)) {
    const plain = withoutGroups(branch)
      .replace(/\[(?:\\.|[^\]\\])*\]/g, " ")
      .replace(/[\w$](?=[?*]|\{\d)/g, " ")
      .replace(/\{[\d,]*\}/g, " ")
      .replace(/\\(?:[ux][0-9a-fA-F]+|[a-zA-Z0-9])/g, " ");
    const [longest] = (plain.match(/[\p{L}\p{N}_]{2,}/gu) ?? []).sort((a, b) => b.length - a.length);
    if (longest === undefined) return null;
    found.push(longest);
  }
  return found;
}

/** The alternatives of an expression: the parts between bars that are outside groups and classes. */
function alternativesOf(source: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const [token] of source.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|./gsu)) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (token === "|" && depth === 0) parts.push("");
    else parts.push(`${parts.pop()}${token}`);
  }
  return parts;
}

function withoutGroups(source: string): string {
  let [out, depth] = ["", 0];
  for (const [token] of source.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|./gsu)) {
    if (token === "(") depth++;
    out += depth > 0 ? " " : token;
    if (token === ")") depth--;
  }
  return out;
}

const MOST_SEARCHED = 200_000;
/** For finding the files with a hit, and for reading their lines. */
const SEARCH_MS = 5_000;
const READ_MS = 2_500;
const LONGEST_SEARCHED_FILE = 16_000_000;
const LONGEST_LINE = 200;
const MOST_IN_A_FILE = 12;
const MOST_CONTEXT = 20;
const ORDER: readonly FileKind[] = ["source", "settings", "test", "docs", "fixture", "history", "generated"];

/** A matching line, or a line of its context. */
interface FoundLine {
  readonly line: number;
  readonly text: string;
  readonly matches: boolean;
}

interface FileMatches {
  readonly path: string;
  readonly lines: readonly FoundLine[];
  readonly count: number;
  /** The lines behind the shown part of a definition. */
  readonly continues: readonly string[];
  /** The place in the order; lower ones come first. */
  readonly rank: number;
}

/** The rank of generated files, and of files with a hit that were not opened in time. */
const NAMED_ONLY = 1_000;
const UNOPENED = { lines: [], count: 0, continues: [], rank: NAMED_ONLY };

interface Found {
  readonly files: readonly FileMatches[];
  readonly notes: readonly string[];
}

/** The matching lines of the project within a budget; states what is left out and how the search was read. */
export function searchProject(project: SearchedFiles, request: SearchRequest, limit: number): string {
  const { pattern, under = "", skipFiles = 0 } = request;
  const below = selectsPaths(under);
  const all = project.list(MOST_SEARCHED);
  const paths = all.filter(below);
  if (paths.length === 0 && under !== "")
    return `there is no file ${under} to search; path is a file, a folder or a pattern`;
  // Nothing is a finding only if it is also nothing as a text, in another case and at another place.
  const attempts: readonly (readonly [string, readonly string[], ReadingOptions])[] = [
    ["", paths, {}],
    ["nothing as an expression; these have it as a text", MARKS.test(pattern) ? paths : [], { asText: true }],
    [
      "nothing in this case; these ignore it",
      pattern === pattern.toLowerCase() ? [] : paths,
      { anyCase: true },
    ],
    [`nothing in ${under}; these are elsewhere`, paths.length < all.length ? all : [], {}],
  ];
  let found: Found | string = { files: [], notes: [] };
  for (const [note, place, options] of attempts) {
    const next: Found | string =
      place.length === 0 ? found : search(project, place, request, { ...options, limit });
    if (note === "") found = next;
    else if (typeof next !== "string" && next.files.length > 0)
      found = { ...next, notes: [...next.notes, note] };
    if (typeof found === "string" || found.files.length > 0) break;
  }
  return typeof found === "string" ? found : wordMatches(pattern, found, { limit, skipFiles });
}

function search(
  project: SearchedFiles,
  paths: readonly string[],
  { pattern: written, context = 0 }: SearchRequest,
  { limit, ...options }: ReadingOptions & { readonly limit: number },
): Found | string {
  const pattern = readPattern(written, options);
  if (typeof pattern === "string") return pattern;
  const { literals, ignoresCase } = pattern;
  const inOrder = ORDER.flatMap((kind) => paths.filter((path) => fileKind(path) === kind));
  const sought = literals?.map((one) => (ignoresCase ? one.toLowerCase() : one));
  const { hits, searched } =
    sought === undefined
      ? { hits: inOrder.map((path) => ({ path })), searched: inOrder.length }
      : project.find(inOrder, [{ spellings: sought, anyCase: ignoresCase }], SEARCH_MS, "whole");
  const reader = createFileReader(pattern, { context: Math.min(context, MOST_CONTEXT), limit });
  const files: FileMatches[] = [];
  const until = performance.now() + READ_MS;
  let [read, isCut] = [0, false];
  for (const { path } of hits) {
    // The first file is read in any case.
    if (read > 0 && performance.now() > until) break;
    read++;
    const file = project.read(path, LONGEST_SEARCHED_FILE);
    if (file === null) continue;
    isCut ||= file.cut;
    const inFile = reader(path, file.text.split("\n"));
    if (inFile !== null) files.push(inFile);
  }
  const unopened = hits.slice(read);
  const unread = inOrder.length - searched;
  return {
    files: [
      ...files.sort((a, b) => a.rank - b.rank),
      ...(literals === null ? [] : unopened).map(({ path }) => ({ ...UNOPENED, path })),
    ],
    notes: [
      ...(pattern.note === "" ? [] : [pattern.note]),
      ...(context > MOST_CONTEXT ? [`context: ${MOST_CONTEXT} is the most`] : []),
      ...(unopened.length > 0
        ? [
            `${unopened.length} files ${literals === null ? "were not searched" : "with a hit are only named"}: give a path`,
          ]
        : []),
      ...(unread > 0
        ? [`${unread} of ${inOrder.length} files were not searched in ${SEARCH_MS / 1_000} s: give a path`]
        : []),
      ...(isCut ? [`of a file above ${LONGEST_SEARCHED_FILE / 1e6} MB only the beginning was searched`] : []),
    ],
  };
}

/** Selects a file, a folder, or a pattern as in `.gitignore`: without a slash, it matches a name in any folder. */
function selectsPaths(under: string): (path: string) => boolean {
  const plain = under.replace(/^\.?\/|\/$/g, "");
  if (plain === "" || plain === ".") return () => true;
  const isBelow = (path: string) => path === plain || path.startsWith(`${plain}/`);
  if (!/[*?[]/.test(plain)) return isBelow;
  const glob = plain.includes("/") ? plain : `**/${plain}`;
  const [isFile, isInFolder] = [compileGlob(glob), compileGlob(`${glob}/**`)];
  // A folder may be called `[id]`.
  return (path) => isFile?.(path) === true || isInFolder?.(path) === true || isBelow(path);
}

/** The name that a pattern such as `def total`, `class Total\b` or `totalOf(` may define. */
const DEFINED_NAME = /([A-Za-z_$][\w$]*)(?:\\b|\s|\\s|\\?\(|[*+])*$/;
/** Characters of the bodies of definitions, as a share of the whole answer, and those that a line has beside its text. */
const BODY_SHARE = 0.5;
const AROUND_BODY = 8;

/** Not between two letters of a word. */
const WORD_END = "(?:(?<![\\w$])|(?![\\w$]))";

/** Reads the matching lines of a file, with their context; of a definition with the name that is sought, the whole body. */
function createFileReader(
  pattern: LinePattern,
  { context, limit }: { readonly context: number; readonly limit: number },
) {
  const { indexIn, ignoresCase, isText, text: sought, source } = pattern;
  const asWritten = isText ? null : compileLinePattern(source, "");
  const hasCase = (line: string) =>
    asWritten === null ? line.includes(sought) : asWritten.indexIn(line) >= 0;
  // Of an expression, words cannot be told without backtracking.
  const asWord = isText ? new RegExp(`${WORD_END}${source}${WORD_END}`, ignoresCase ? "i" : "") : null;
  const name = DEFINED_NAME.exec(sought)?.[1];
  let bodies = limit * BODY_SHARE;
  /** 0: this case and a whole word; 3: neither. */
  const qualityOf = (line: string) => {
    const text = line.slice(0, MATCHED_CHARS);
    return (!ignoresCase || hasCase(text) ? 0 : 2) + (asWord?.test(text) === false ? 1 : 0);
  };
  return (path: string, lines: readonly string[]): FileMatches | null => {
    const hits = lines.flatMap((text, at) => {
      const index = indexIn(text);
      return index < 0 ? [] : [{ at, index, quality: qualityOf(text) }];
    });
    if (hits.length === 0) return null;
    const kind = fileKind(path);
    const isCode = kind === "source" || kind === "settings";
    const places = new Map(hits.map((hit) => [hit.at, hit]));
    const definitions = isCode
      ? definitionsOf(
          hits.map(({ at }) => lines[at] as string),
          path,
        ).map((one) => ({ ...one, at: (hits[one.line - 1] as { at: number }).at }))
      : [];
    const shown = new Set<number>();
    const continues: string[] = [];
    const show = (from: number, to: number) => {
      for (let at = Math.max(0, from); at <= Math.min(lines.length - 1, to); at++) shown.add(at);
    };
    for (const { at } of hits) show(at - context, at + context);
    for (const { at, name: defined, indent } of definitions) {
      if (defined.toLowerCase() !== name?.toLowerCase()) continue;
      const whole = endOf(lines, { line: at + 1, name: defined, indent });
      let end = at + 1;
      for (; end < whole && bodies > 0; end++) bodies -= (lines[end] as string).length + AROUND_BODY;
      while ((lines[end - 1] as string).trim() === "" && end > at + 1) end--;
      if (end < whole && bodies <= 0) continues.push(`${path}:${end + 1}-${whole}`);
      show(at, end - 1);
    }
    const isWide = shown.size > hits.length;
    const quality = Math.min(...hits.map((hit) => hit.quality));
    return {
      path,
      lines: [...shown]
        .sort((a, b) => a - b)
        .map((at) => {
          const text = lines[at] as string;
          const matches = places.has(at);
          // Beside other lines, the indentation is kept.
          return {
            line: at + 1,
            text: cutAround(isWide ? text.trimEnd() : text.trim(), places.get(at)?.index ?? 0),
            matches,
          };
        }),
      count: hits.length,
      continues,
      rank:
        kind === "generated"
          ? NAMED_ONLY
          : (definitions.length > 0 ? 0 : 100) + quality * 10 + ORDER.indexOf(kind),
    };
  };
}

/** The part of a long line around the match. */
function cutAround(text: string, index: number): string {
  if (text.length <= LONGEST_LINE) return text;
  const from = Math.max(0, Math.min(index - LONGEST_LINE / 4, text.length - LONGEST_LINE));
  const to = from + LONGEST_LINE;
  return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`.toWellFormed();
}

/** The share of the budget that names the files whose lines do not fit. */
const NAMES_SHARE = 0.25;
const NAME_CHARS = 40;

function wordMatches(
  pattern: string,
  { files, notes }: Found,
  { limit, skipFiles }: { readonly limit: number; readonly skipFiles: number },
): string {
  const out: string[] = [];
  const opened = files.filter(({ rank }) => rank < NAMED_ONLY);
  const listed = opened.length === 0 ? files : opened;
  let left = limit;
  let shownFiles = Math.min(skipFiles, listed.length);
  const shown = new Map<string, string>();
  for (const file of listed.slice(skipFiles)) {
    const names = Math.min(limit * NAMES_SHARE, (files.length - shownFiles - 1) * NAME_CHARS);
    const words = wordFile(
      file,
      files.length === 1 ? Number.POSITIVE_INFINITY : MOST_IN_A_FILE,
      left - names,
    );
    const twin = shown.get(words);
    if (twin === undefined) shown.set(words, file.path);
    const block = `${file.path}\n${twin === undefined ? words : `as in ${twin}`}`;
    if (block.length > left - names && out.length > 0) break;
    left -= block.length + 1;
    out.push(block);
    shownFiles++;
  }
  const missing = files.slice(shownFiles);
  if (missing.length > 0)
    out.push(
      `… and ${missing.length} more files (skip_files: ${shownFiles}): ${wordNames(missing, Math.max(left, limit * NAMES_SHARE))}`,
    );
  const total = files.reduce((sum, { count }) => sum + count, 0);
  const none = files.length === 0 ? "nothing found" : `all ${listed.length} files were skipped (skip_files)`;
  const said = notes.map((note) => `(${note})\n`).join("");
  return `<search pattern="${pattern}" lines="${total}" files="${files.length}">\n${said}${out.join("\n") || none}\n</search>`;
}

/** Each file with its number of lines, folder by folder; where that is too long, the folders with what is in them, merged from the deepest. */
function wordNames(files: readonly FileMatches[], limit: number): string {
  const named = [...Map.groupBy(files, ({ path }) => parentOf(path))].map(
    ([folder, inside]) =>
      `${folder === "" ? "" : `${folder}/`}${inside.length > 1 && folder !== "" ? "{" : ""}${inside
        .map(({ path, count }) => (count <= 1 ? lastPathName(path) : `${lastPathName(path)} ${count}`))
        .join(", ")}${inside.length > 1 && folder !== "" ? "}" : ""}`,
  );
  if (named.join(", ").length <= limit) return named.join(", ");
  for (let depth = 8; ; depth--) {
    const folders = Map.groupBy(files, ({ path }) => parentOf(path).split("/").slice(0, depth).join("/"));
    const words = [...folders]
      .map(
        ([folder, inside]) =>
          `${folder === "" ? "." : folder}/ (${inside.length} files, ${inside.reduce((sum, { count }) => sum + count, 0)} lines)`,
      )
      .join(", ");
    if (words.length <= limit || depth === 0) return words;
  }
}

/** As many matches as fit, up to `most`, each with its context. */
function wordFile({ path, lines, count, continues }: FileMatches, most: number, limit: number): string {
  const out: string[] = [];
  let [shown, left, last] = [0, limit - path.length, 0];
  for (const { line, text, matches } of lines) {
    if (matches && shown === most) break;
    const word = `${line}${matches ? ":" : "-"} ${text}`;
    const gap = out.length > 0 && line > last + 1 && lines.length > count ? ["…"] : [];
    left -= word.length + 1 + gap.length * 2;
    if (left < 0 && out.length > 0) break;
    out.push(...gap, word);
    last = line;
    if (matches) shown++;
  }
  const end = lines.at(-1)?.line ?? last;
  const more = count - shown;
  const next = more === 0 && last < end ? [`${path}:${last + 1}-${end}`] : continues;
  return [
    ...out,
    ...(more > 0 ? [`… ${more} more`] : []),
    ...(next.length > 0 ? [`(cut; the next is ${next.join(", ")})`] : []),
  ].join("\n");
}
