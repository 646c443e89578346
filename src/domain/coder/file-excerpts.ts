import type { LineRange } from "../patch/compare-lines.ts";
import { toLines } from "../platform/file-bytes.ts";
import { type Term, termsIn } from "../platform/request-terms.ts";

/** A line that begins a function, a class, a section or the like. */
export interface Definition {
  /** From 1. */
  readonly line: number;
  readonly name: string;
  readonly indent: number;
}

const NAMED = [
  /^\s*(?:export\s+|default\s+|declare\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|abstract\s+|final\s+|async\s+|unsafe\s+|pub(?:\([^)]*\))?\s+)*(?:function\*?(?=\s+[\w$.:]+\s*[(<{])|class|interface|enum|struct|trait|impl|fn|def|module|record|namespace|object|protocol|macro_rules!)\s+([\w$]+)/,
  /^\s*(?:export\s+)?type\s+([\w$]+)/,
  /^func\s+(?:\([^)]*\)\s*)?(\w+)/,
  /^\s*(?:export\s+)?(?:const|let|var)\s+([\w$]+)(?:\s*:[^=]+)?\s*=\s*(?:async\s*)?(?:function|class\b|\(|[\w$]+\s*=>)/,
  /^(?:export\s+)?const\s+([\w$]+)/,
  /^\s*(?:module\.)?exports\.([\w$]+)\s*=/,
  /^\s*[\w$.]+\.([\w$]+)\s*=\s*(?:async\s*)?function/,
  /^\s*["']?([\w$]+)["']?\s*:\s*(?:async\s*)?function/,
  /^\s*(?:describe|suite|context|it|test|t\.test|specify)(?:\.\w+)*\s*\(\s*(?:"(.{1,60}?)"|'(.{1,60}?)'|`(.{1,60}?)`)/,
  /^\s+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*\*?([\w$#]+)\s*\([^;]*\)\s*(?::[^{;]+)?\{\s*$/,
  /^(?:[\w<>[\],*&:]+\s+)+\**(\w+)\s*\([^;]*(?:\)\s*\{?|,)\s*$/,
  /^\s+(?!(?:return|throw|new|await|yield|else|case|in|of|not)\b)(?:[\w<>[\],.?*&@]+\s+)+[*&]*(\w+)\s*\([^;=]*\)\s*(?:const\s*)?(?:throws\s+[\w.,\s]+)?\{\s*$/,
];
const HEADING = /^#{1,6}\s+(.+)/;
const HEADING_CHARS = 60;
/** Images and tags of a heading, such as badges; code in backquotes is kept. */
const DECORATION = /(`[^`]*`)|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?|<\/?[a-z][^>]*>/g;
const LINK = /\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g;
const PROSE = /\.(?:md|mdx|markdown|rst|adoc|txt)$/i;
const NO_NAMES = new Set(
  "if for while switch catch return else function do with try synchronized".split(" "),
);

/** The definitions in a file by light patterns, without a parser. In prose only headings count; in a program `#` begins a comment. */
export function definitionsOf(lines: readonly string[], path: string): Definition[] {
  const patterns = PROSE.test(path) ? [HEADING] : NAMED;
  const found: Definition[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.length > 400) continue;
    for (const pattern of patterns) {
      const named = pattern.exec(line)?.slice(1).find(Boolean);
      if (named === undefined) continue;
      const name = (pattern === HEADING ? headingWords(named) : named).trim();
      if (name !== "" && !NO_NAMES.has(name)) found.push({ line: at + 1, name, indent: indentOf(line) });
      break;
    }
  }
  return found;
}

function headingWords(text: string): string {
  return text.replace(DECORATION, "$1").replace(LINK, "$1").trim().slice(0, HEADING_CHARS);
}

/** `export const copy = _copy.copy`, `const copy = require("./copy")`: the name is only re-exported; its definition is elsewhere. */
export function isAlias(line: string): boolean {
  return (
    /=\s*(?:(?:require|await\s+import)\s*\([^()]*\)\s*(?:\.[\w$.]+)?|[\w$.]+)\s*;?\s*$/.test(line) &&
    !/=>|\bfunction\b/.test(line)
  );
}

/** Columns before the first character; a blank line is deeper than any. */
function indentOf(line: string): number {
  const text = line.trimStart();
  if (text === "") return Number.POSITIVE_INFINITY;
  return line.slice(0, line.length - text.length).replaceAll("\t", "    ").length;
}

/** The last line of a definition, by indentation; for a heading, the line before the next one of its rank. */
export function endOf(lines: readonly string[], { line, indent }: Definition): number {
  const head = lines[line - 1] ?? "";
  const rank = /^(#{1,6})\s/.exec(head)?.[1]?.length;
  for (let at = line; at < lines.length; at++) {
    const text = lines[at] as string;
    if (rank !== undefined) {
      const other = /^(#{1,6})\s/.exec(text)?.[1]?.length;
      if (other !== undefined && other <= rank) return at;
      continue;
    }
    if (indentOf(text) > indent) continue;
    const closing = /^\s*[)\]}]/.test(text);
    // A signature over several lines closes before its body begins.
    if (closing && /[{(:]\s*$|=>\s*$/.test(text)) continue;
    // At the same depth without a bracket: the body had none, or its brace is on a separate line.
    if (!closing && /^\s*\{\s*$/.test(text)) continue;
    return closing || /^\s*end\b/.test(text) ? at + 1 : Math.max(line, lastFilled(lines, at));
  }
  return lines.length;
}

function lastFilled(lines: readonly string[], before: number): number {
  let at = before;
  while (at > 1 && (lines[at - 1] as string).trim() === "") at--;
  return at;
}

export interface ExcerptRequest {
  readonly terms: readonly Term[];
  /** Characters of all excerpts together. */
  readonly limit: number;
  /** Lines that a stack trace or a failed edit names. */
  readonly focus?: readonly number[];
  /** Whether the first and the last lines are shown, where a test or a section would be added. */
  readonly ends?: boolean;
  /** Ranges that are shown in any case, as far as they fit. */
  readonly also?: readonly LineRange[];
}

const LONGEST_BLOCK = 120;
/** A definition that the request names is shown whole up to this many lines. */
const LONGEST_NAMED = 300;
const AROUND_HIT = { before: 8, after: 12 };
const ENDS = { first: 12, last: 14 };
/** A gap of this many characters between two excerpts is cheaper to show than to ask for: it may be the middle of a function. */
const SMALL_GAP = 400;
/** A shorter excerpt around a line is not worth showing. */
const SMALLEST = 3;
/** The factor for a term's value in its next excerpt. */
const SEEN = 0.5;

/** Imports are searched in this many lines after the licence. */
const LAST_IMPORT = 60;
const IMPORT =
  /^(?:import\b|from\s.+\simport\b|use\s|using\s|#\s*include\b|require\b|(?:const|let|var)\s.+\brequire\(|\}\s*from\s)/;

/** The head of a file as far as its imports go: a list of imports is not cut. */
export function headOf(lines: readonly string[]): LineRange {
  const code = lines.findIndex((line) => !/^\s*(?:\/\/|\/?\*|#(?![#!]| \S+$)|$)/.test(line));
  const from = code < LICENCE ? 1 : code + 1;
  const head = lines.slice(from - 1, from - 1 + LAST_IMPORT);
  const last = head.findLastIndex((line) => IMPORT.test(line));
  const open = head.findLastIndex((line) => /^(?:import|from)\b.*[({]$/.test(line));
  const close = open === -1 ? -1 : head.findIndex((line, at) => at > open && /^[)}]/.test(line));
  return { from, to: Math.min(lines.length, from + Math.max(ENDS.first - 1, last, close)) };
}

/** The parts of a long text that a request is about: whole definitions where they are short enough. */
export function chooseExcerpts(path: string, lines: readonly string[], request: ExcerptRequest): LineRange[] {
  const definitions = definitionsOf(lines, path);
  const taken = createExcerptBudget(lines, request.limit);
  if (request.ends === true) {
    taken.take(headOf(lines));
    taken.take({ from: Math.max(1, lines.length - ENDS.last + 1), to: lines.length });
  }
  for (const range of request.also ?? []) taken.take(range);
  const named = new Set(
    request.terms.flatMap(({ kind, spellings }) => (kind === "identifier" ? spellings : [])),
  );
  const blockOf = (line: number) => blockAround(lines, definitions, line, named);
  for (const line of request.focus ?? []) taken.take(blockOf(line), line);
  const all = hitsOf(lines, definitions, request.terms);
  const pointing = pointingTerms(all, request.terms, lines.length);
  const telling = all.filter(({ terms, defines }) => defines || terms.some((term) => pointing.has(term)));
  const hits = telling.length > 0 ? telling : all;
  const worth = request.terms.map(({ weight }) => weight);
  while (hits.length > 0) {
    const best = bestOf(hits, worth);
    const [hit] = hits.splice(best, 1);
    if (hit === undefined || taken.has(hit.line)) continue;
    if (!taken.take(blockOf(hit.line), hit.line)) break;
    for (const term of hit.terms) worth[term] = (worth[term] ?? 0) * SEEN;
  }
  return taken.ranges();
}

/** A comment of this many lines at the head of a file counts as a licence; the imports follow it. */
const LICENCE = 5;

interface Hit {
  readonly line: number;
  readonly terms: readonly number[];
  readonly defines: boolean;
}

function hitsOf(lines: readonly string[], definitions: readonly Definition[], terms: readonly Term[]): Hit[] {
  const defined = new Set(definitions.map(({ line }) => line));
  const hits: Hit[] = [];
  for (const [at, line] of lines.entries()) {
    const found = termsIn(line, terms);
    if (found.length > 0) hits.push({ line: at + 1, terms: found, defines: defined.has(at + 1) });
  }
  return hits;
}

/** A word in more of a file's lines than this does not identify a place. */
const COMMON_SHARE = 0.04;
const COMMON_LINES = 8;

function pointingTerms(hits: readonly Hit[], terms: readonly Term[], lines: number): ReadonlySet<number> {
  const counts = terms.map(() => 0);
  for (const hit of hits) for (const term of hit.terms) counts[term] = (counts[term] ?? 0) + 1;
  const most = Math.max(COMMON_LINES, lines * COMMON_SHARE);
  return new Set(terms.flatMap(({ kind }, at) => (kind !== "word" || (counts[at] ?? 0) <= most ? [at] : [])));
}

function bestOf(hits: readonly Hit[], worth: readonly number[]): number {
  let best = 0;
  let most = -1;
  for (const [at, { terms, defines }] of hits.entries()) {
    const sum = terms.reduce((all, term) => all + (worth[term] ?? 0), 0) * (defines ? 2 : 1);
    if (sum > most) [best, most] = [at, sum];
  }
  return best;
}

/** The innermost definition around a line that is not too long, else some lines around it. */
function blockAround(
  lines: readonly string[],
  definitions: readonly Definition[],
  line: number,
  named: ReadonlySet<string>,
): LineRange {
  let best: LineRange | null = null;
  for (let at = definitions.length - 1; at >= 0; at--) {
    const definition = definitions[at] as Definition;
    if (definition.line > line) continue;
    const to = endOf(lines, definition);
    if (to < line) continue;
    const isNamed = definition.line === line && named.has(definition.name);
    if (to - definition.line + 1 > (isNamed ? LONGEST_NAMED : LONGEST_BLOCK)) break;
    best = { from: definition.line, to };
    // The function around a short inner one explains its purpose.
    if (to - definition.line >= AROUND_HIT.after) break;
  }
  if (best !== null) return { from: withComment(lines, best.from), to: best.to };
  return {
    from: Math.max(1, line - AROUND_HIT.before),
    to: Math.min(lines.length, line + AROUND_HIT.after),
  };
}

/** A definition's comment and decorators are above it. */
function withComment(lines: readonly string[], from: number): number {
  let at = from;
  while (at > 1 && from - at < 12 && /^\s*(?:\/\/|\/?\*|#(?!#* )|@|""")/.test(lines[at - 2] as string)) at--;
  return at;
}

function createExcerptBudget(lines: readonly string[], limit: number) {
  const shown = new Set<number>();
  let left = limit;
  const cost = (range: LineRange): number => {
    let chars = 0;
    for (let line = range.from; line <= range.to; line++)
      if (!shown.has(line)) chars += (lines[line - 1] as string).length + 1;
    return chars;
  };
  const mark = (range: LineRange): true => {
    left -= cost(range);
    for (let line = range.from; line <= range.to; line++) shown.add(line);
    return true;
  };
  return {
    has: (line: number) => shown.has(line),
    /** Takes the range, or the part around `line` that fits; false if that is too short. A range may extend past the last line. */
    take(asked: LineRange, line: number = asked.from): boolean {
      const range = { from: Math.max(1, asked.from), to: Math.min(asked.to, lines.length) };
      if (cost(range) <= left) return mark(range);
      const within = Math.min(Math.max(line, range.from), range.to);
      let near: LineRange = { from: within, to: within };
      if (cost(near) > left) return false;
      for (;;) {
        const wider: LineRange = {
          from: Math.max(range.from, near.from - 1),
          to: Math.min(range.to, near.to + 2),
        };
        if ((wider.from === near.from && wider.to === near.to) || cost(wider) > left) break;
        near = wider;
      }
      return near.to - near.from >= SMALLEST && mark(near);
    },
    ranges(): LineRange[] {
      const ranges: { from: number; to: number }[] = [];
      for (const line of [...shown].sort((a, b) => a - b)) {
        const last = ranges.at(-1);
        const gap = { from: (last?.to ?? line) + 1, to: line };
        if (last !== undefined && cost(gap) <= Math.min(SMALL_GAP, left) && mark(gap)) last.to = line;
        else ranges.push({ from: line, to: line });
      }
      return ranges;
    },
  };
}

/** Characters of the outline of what is not shown. */
const OUTLINE = 500;
/** A line longer than this is cut in an excerpt: such lines are not edited by hand. */
const LONGEST_LINE = 1_000;

export interface ShowFile extends ExcerptRequest {
  /** Whether the rest of the limit is spent on the rest of the file. */
  readonly fill?: boolean;
}

/** A file for a model: whole if it fits, else excerpts with their line numbers and an outline of the rest. */
export function showFile(path: string, text: string, request: ShowFile): string {
  if (text.length <= request.limit) return fileElement(path, "", text);
  const lines = toLines(text);
  const ranges = chosen(path, lines, request);
  if (ranges.length === 0) return cutElement(path, text, request.limit);
  return showRanges(path, lines, ranges);
}

/** Lines on either side of a relevant line, in a file that the coder has seen before. */
const AROUND_LINE = 20;
/** A file up to this size is shown whole: excerpts would be nearly as long. */
export const SHORT_FILE = 2_500;

/** A file around some of its lines; without any, up to the limit. */
export function showAround(path: string, text: string, around: readonly number[], limit: number): string {
  if (around.length === 0 || text.length <= Math.min(limit, SHORT_FILE))
    return showFile(path, text, { terms: [], limit });
  const lines = toLines(text);
  const also = around.map((line) => ({
    from: Math.max(1, Math.min(line, lines.length) - AROUND_LINE),
    to: Math.min(lines.length, line + AROUND_LINE),
  }));
  const ranges = chooseExcerpts(path, lines, { terms: [], limit, also });
  return ranges.length === 0 ? cutElement(path, text, limit) : showRanges(path, lines, ranges);
}

export function showLines(path: string, text: string, asked: LineRange, limit: number): string {
  const lines = toLines(text);
  const from = Math.min(asked.from, lines.length);
  let to = from - 1;
  let left = limit;
  for (let line = from; line <= Math.min(asked.to, lines.length); line++) {
    left -= Math.min((lines[line - 1] as string).length, LONGEST_LINE) + 1;
    if (left < 0) break;
    to = line;
  }
  if (to < from) return cutElement(path, lines[from - 1] ?? "", limit);
  const element = fileElement(path, ` lines="${from}-${to} of ${lines.length}"`, body(lines, from, to));
  const wanted = Math.min(asked.to, lines.length);
  return to < wanted ? `${element}\n(cut; the next is ${path}:${to + 1}-${wanted})` : element;
}

const hiddenLines = (from: number, to: number) => `… lines ${from}-${to} not shown …`;

/** The ranges, joined over each gap that is no longer than the line that would replace it. */
function withTinyGaps(lines: readonly string[], ranges: readonly LineRange[]): LineRange[] {
  const joined = [{ from: 1, to: 0 }];
  for (const range of [...ranges, { from: lines.length + 1, to: lines.length }]) {
    const last = joined.at(-1) as { from: number; to: number };
    const gap = [last.to + 1, range.from - 1] as const;
    if (body(lines, ...gap).length <= hiddenLines(...gap).length) last.to = range.to;
    else joined.push({ ...range });
  }
  return joined.filter(({ from, to }) => from <= to);
}

function showRanges(path: string, lines: readonly string[], chosen: readonly LineRange[]): string {
  const ranges = withTinyGaps(lines, chosen);
  const parts: string[] = [];
  let next = 1;
  for (const { from, to } of [...ranges, { from: lines.length + 1, to: lines.length }]) {
    if (from > next) parts.push(hiddenLines(next, from - 1));
    if (to >= from) parts.push(body(lines, from, to));
    next = to + 1;
  }
  const named = ranges.map(({ from, to }) => `${from}-${to}`).join(",");
  const element = fileElement(path, ` lines="${named} of ${lines.length}"`, parts.join("\n"));
  const rest = restOf(path, lines, ranges);
  return rest === "" ? element : `${element}\n${rest}`;
}

function chosen(path: string, lines: readonly string[], request: ShowFile): LineRange[] {
  if (request.fill !== true) return chooseExcerpts(path, lines, request);
  const ranges = chooseExcerpts(path, lines, { ...request, limit: Math.floor(request.limit * 0.7) });
  const spent = ranges.reduce((sum, { from, to }) => sum + body(lines, from, to).length + 1, 0);
  return chooseExcerpts(path, lines, {
    ...request,
    also: [...ranges, ...headAndTail(lines, request.limit - spent)],
  });
}

/** The first and the last lines that fit: imports, and the latest additions. */
function headAndTail(lines: readonly string[], limit: number): LineRange[] {
  let left = Math.floor(limit * 0.6);
  let head = 0;
  while (head < lines.length && left >= (lines[head] as string).length + 1)
    left -= (lines[head++] as string).length + 1;
  left += Math.floor(limit * 0.4);
  let tail = lines.length;
  while (tail > head && left >= (lines[tail - 1] as string).length + 1)
    left -= (lines[--tail] as string).length + 1;
  return [
    ...(head > 0 ? [{ from: 1, to: head }] : []),
    ...(tail < lines.length ? [{ from: tail + 1, to: lines.length }] : []),
  ];
}

function body(lines: readonly string[], from: number, to: number): string {
  return lines
    .slice(from - 1, to)
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line))
    .join("\n");
}

function fileElement(path: string, attributes: string, text: string): string {
  return `<file path="${path}"${attributes}>\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}</file>`;
}

function cutElement(path: string, text: string, limit: number): string {
  return `<file path="${path}" cut="true">\n${text.slice(0, limit)}…\n</file>`;
}

/** Definitions that the excerpts leave out, for the coder to ask for. If not all fit, every second of the innermost is left out. */
function restOf(path: string, lines: readonly string[], ranges: readonly LineRange[]): string {
  const names = new Set<string>();
  let above = "";
  let left = definitionsOf(lines, path).filter(({ line, name, indent }) => {
    if (indent === 0) above = name;
    const key = `${above} ${indent} ${name}`;
    // Overloads count as one definition; a name that is only imported does not count.
    const isMore = names.has(key) || isAlias(lines[line - 1] ?? "");
    names.add(key);
    return !isMore && !ranges.some(({ from, to }) => line >= from && line <= to);
  });
  const all = left.length;
  const word = () => left.map(({ name, line }) => `${name} ${line}`).join(", ");
  while (left.length > 1 && word().length > OUTLINE) {
    const deepest = Math.max(...left.map(({ indent }) => indent));
    let inner = 0;
    left = left.filter(({ indent }) => indent < deepest || inner++ % 2 === 1);
  }
  if (left.length === 0) return "";
  const more = all - left.length;
  return `(not shown, by line: ${word()}${more > 0 ? `, and ${more} more` : ""})`;
}

/** A file that a coder asks for, or some lines of it. */
export interface AskedFile {
  readonly path: string;
  readonly lines?: LineRange;
}

const RANGE = /(?::|#L?|\s\(?lines?\s+|\sL)(\d{1,7})(?:\s*(?:-|–|—|\.\.|:|to)\s*L?(\d{1,7})?)?\)?$/i;
const AROUND_NAMED_LINE = 30;

/** Reads `path`, `path:12`, `path:12-80`, `path:12-` and what coders write instead. */
export function readAskedFile(text: string): AskedFile {
  const trimmed = text.trim();
  const found = RANGE.exec(trimmed);
  const path = (found === null ? trimmed : trimmed.slice(0, found.index)).trim().replace(/^\.?\//, "");
  if (found === null || path === "") return { path: trimmed.replace(/^\.?\//, "") };
  const first = Math.max(1, Number(found[1]));
  const open = /(?:-|–|—|\.\.|:|to)\s*\)?$/i.test(found[0]);
  const last = found[2] === undefined ? undefined : Number(found[2]);
  if (last === undefined && open) return { path, lines: { from: first, to: Number.MAX_SAFE_INTEGER } };
  if (last === undefined)
    return { path, lines: { from: Math.max(1, first - AROUND_NAMED_LINE), to: first + AROUND_NAMED_LINE } };
  return { path, lines: { from: Math.min(first, last), to: Math.max(first, last) } };
}

/** Splits a budget over wishes: a wish below the equal share leaves its rest to the others. */
export function splitBudget(wishes: readonly number[], budget: number): number[] {
  const shares = wishes.map(() => 0);
  let left = budget;
  const open = wishes.map((wish, at) => ({ wish, at })).sort((a, b) => a.wish - b.wish);
  for (const [taken, { wish, at }] of open.entries()) {
    const share = Math.min(wish, Math.floor(left / (open.length - taken)));
    shares[at] = share;
    left -= share;
  }
  return shares;
}
