import { chooseExcerpts, type ExcerptRequest, type LineRange } from "./file-excerpts.ts";
import { definitionsOf } from "./outline.ts";

/** Characters of the outline of what is not shown. */
const OUTLINE = 500;
/** A line longer than this is cut in an excerpt: nobody edits it by hand. */
const LONGEST_LINE = 1_000;

export interface ShowFile extends ExcerptRequest {
  /** Whether what is left of the limit is spent on the rest of the file. */
  readonly fill?: boolean;
}

/** A file for a model: whole where it fits, else excerpts under their line numbers, and what they leave out. */
export function showFile(path: string, text: string, request: ShowFile): string {
  if (text.length <= request.limit) return fileElement(path, "", text);
  const lines = linesOf(text);
  const ranges = chosen(lines, request);
  if (ranges.length === 0) return cutElement(path, text, request.limit);
  return showRanges(path, lines, ranges);
}

/** The lines that were asked for, cut at the limit. */
export function showLines(path: string, text: string, asked: LineRange, limit: number): string {
  const lines = linesOf(text);
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

function showRanges(path: string, lines: readonly string[], ranges: readonly LineRange[]): string {
  const parts: string[] = [];
  let next = 1;
  for (const { from, to } of ranges) {
    if (from > next) parts.push(`… lines ${next}-${from - 1} not shown …`);
    parts.push(body(lines, from, to));
    next = to + 1;
  }
  if (next <= lines.length) parts.push(`… lines ${next}-${lines.length} not shown …`);
  const named = ranges.map(({ from, to }) => `${from}-${to}`).join(",");
  const element = fileElement(path, ` lines="${named} of ${lines.length}"`, parts.join("\n"));
  const rest = restOf(lines, ranges);
  return rest === "" ? element : `${element}\n${rest}`;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function chosen(lines: readonly string[], request: ShowFile): LineRange[] {
  if (request.fill !== true) return chooseExcerpts(lines, request);
  const ranges = chooseExcerpts(lines, { ...request, limit: Math.floor(request.limit * 0.7) });
  const spent = ranges.reduce((sum, { from, to }) => sum + body(lines, from, to).length + 1, 0);
  return chooseExcerpts(lines, {
    ...request,
    also: [...ranges, ...headAndTail(lines, request.limit - spent)],
  });
}

/** The first and the last lines that fit: imports and what was added last. */
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

/** Where the definitions stand that the excerpts leave out, so that they can be asked for. */
function restOf(lines: readonly string[], ranges: readonly LineRange[]): string {
  const names: string[] = [];
  let chars = 0;
  for (const { line, name } of definitionsOf(lines)) {
    if (ranges.some(({ from, to }) => line >= from && line <= to)) continue;
    const one = `${name} ${line}`;
    chars += one.length + 2;
    if (chars > OUTLINE) {
      names.push("…");
      break;
    }
    names.push(one);
  }
  return names.length === 0 ? "" : `(not shown, by line: ${names.join(", ")})`;
}
