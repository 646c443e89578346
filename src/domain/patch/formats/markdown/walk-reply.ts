import { lineAfter, lineAt } from "../../../platform/bytes-text.ts";
import { scanJson, skipJsonSpace } from "../../../platform/json-text.ts";
import { jsonMeaning } from "../../patch-command.ts";
import { createFinder, type EmbeddedFormat } from "../embedded-format.ts";
import { createExtents, embeddedFormat, markAt } from "../registry.ts";

const DEEPEST = 32;

/** Open list items: a fence may be indented by its item's content column plus three. Takes every line outside of blocks. */
function createListContext() {
  const columns: number[] = [];
  let afterBlank = false;

  /** Content column of the innermost item that a line with this indent belongs to; 0 outside of lists. */
  const container = (indent: number): number => {
    for (let i = columns.length - 1; i >= 0; i--) if (columns[i]! <= indent) return columns[i]!;
    return 0;
  };

  return {
    container,
    blank(): void {
      afterBlank = true;
    },
    /** Reads one line. Returns where its own content starts, after any list markers. */
    line(
      text: string,
      at: number,
      lineEnd: number,
      indent: number,
    ): { readonly at: number; readonly indent: number } {
      let here = { at, indent };
      let marker = listMarker(text, at, lineEnd);
      const outdents = (column: number): boolean => column > here.indent;
      // A paragraph may continue without indent (lazy continuation), but not after a blank line or at a marker.
      if (afterBlank || marker > 0) while (columns.length > 0 && outdents(columns.at(-1)!)) columns.pop();
      afterBlank = false;
      while (marker > 0 && columns.length < DEEPEST && here.indent - container(here.indent) <= 3) {
        const spaces = countSpaces(text, here.at + marker, lineEnd);
        const gap = spaces >= 1 && spaces <= 4 ? spaces : 1;
        here = { at: here.at + marker + gap, indent: here.indent + marker + gap };
        columns.push(here.indent);
        if (here.at >= lineEnd) break;
        marker = listMarker(text, here.at, lineEnd);
      }
      return here;
    },
  };
}

/** Length of the list marker at `at`, 0 when there is none. */
function listMarker(text: string, at: number, lineEnd: number): number {
  const code = text.charCodeAt(at);
  let end = at;
  if (code === 0x2d || code === 0x2b || code === 0x2a) end = at + 1;
  else {
    while (end < lineEnd && end - at < 9 && text.charCodeAt(end) >= 0x30 && text.charCodeAt(end) <= 0x39)
      end++;
    if (end === at || (text.charAt(end) !== "." && text.charAt(end) !== ")")) return 0;
    end += 1;
  }
  return end >= lineEnd || text.charAt(end) === " " ? end - at : 0;
}

function countSpaces(text: string, from: number, lineEnd: number): number {
  let at = from;
  while (at < lineEnd && at - from <= 5 && text.charAt(at) === " ") at++;
  return at - from;
}

/** JSON that contains commands, or was clearly meant to. */
type JsonPiece =
  | { readonly kind: "json"; readonly value: unknown; readonly start: number }
  | {
      readonly kind: "broken-json";
      readonly at: number;
      readonly reason: string;
      readonly start: number;
      /** It was at the start of its line. */
      readonly flush: boolean;
    };

interface JsonHit {
  readonly piece: JsonPiece | undefined;
  /** Where the prose continues. */
  readonly next: number;
}

/** An array of objects anywhere on a line, an object at its start. Scanned text is not scanned again, so it stays linear. */
function createJsonSearch(
  text: string,
): (from: number, lineEnd: number, lineAt: number) => JsonHit | undefined {
  const nextArray = createFinder(text, "[");
  const nextType = createFinder(text, '"type"');
  const nextAction = createFinder(text, '"action"');
  /** Broken JSON that was clearly meant as commands; it must not be ignored silently. */
  const meantCommands = (start: number, end: number): boolean => {
    const type = nextType(start);
    const action = nextAction(start);
    return type !== -1 && action !== -1 && Math.max(type, action) < end + 1000;
  };

  const read = (start: number, flush: boolean): JsonHit => {
    const extent = scanJson(text, start);
    if (!extent.ok) {
      const next = Math.max(extent.at, start + 1);
      if (!meantCommands(start, next)) return { piece: undefined, next };
      return { piece: { kind: "broken-json", at: extent.at, reason: extent.reason, start, flush }, next };
    }
    const value: unknown = JSON.parse(text.slice(start, extent.end));
    const commands = jsonMeaning(value).kind !== "other";
    return { piece: commands ? { kind: "json", value, start } : undefined, next: extent.end };
  };

  return (from, lineEnd, lineAt) => {
    if (text.charAt(lineAt) === "{" && text.charAt(skipJsonSpace(text, lineAt + 1)) === '"')
      return read(lineAt, true);
    for (let hit = nextArray(from); hit !== -1 && hit < lineEnd; hit = nextArray(hit + 1)) {
      const inside = skipJsonSpace(text, hit + 1);
      if (text.charAt(inside) === "{") return read(hit, hit === lineAt);
      if (inside > lineEnd) return undefined;
    }
    return undefined;
  };
}

/** One part of a reply that may hold commands. Offsets are into the reply; `end` is where the text after it starts. */
export type Piece = { readonly end: number } & PieceKind;

type PieceKind =
  | {
      readonly kind: "block";
      readonly info: string;
      readonly body: string;
      /** Of the fence, and of the body. */
      readonly opens: number;
      readonly start: number;
      readonly closed: boolean;
      readonly embedded: EmbeddedFormat | undefined;
      /** The lines of prose above, where SEARCH/REPLACE keeps its path; empty for other formats. */
      readonly above: string;
      readonly nested: boolean;
    }
  | {
      readonly kind: "raw";
      readonly format: EmbeddedFormat;
      readonly text: string;
      readonly start: number;
      readonly above: string;
    }
  /** An HTML comment of several lines: its contents are not visible, so they are not executed. */
  | { readonly kind: "comment"; readonly start: number; readonly closed: boolean }
  | JsonPiece;

/** What the line that opens a fence says about the block. */
export type BlockInfo =
  /** `named`: where the file is named, if not in the fence: `asked` is the request. `open`: its fence is not closed. */
  | {
      readonly kind: "file";
      readonly path: string;
      readonly language: string;
      readonly named?: "above" | "inside" | "asked" | "open";
    }
  | { readonly kind: "shell"; readonly shell?: "sh" | "zsh" }
  | { readonly kind: "console" }
  | { readonly kind: "git" }
  | { readonly kind: "diff" }
  | { readonly kind: "json" }
  /** Says nothing that can be carried out; the body may still hold a patch of its own. */
  | { readonly kind: "unknown"; readonly tag: string };

const LONGEST_QUOTE = 120;

/** How a part of a reply is named to its writer: its first line, and the first line of its content. */
export function quotePart(line: string, body = ""): string {
  const first = body.split("\n", 20).find((one) => one.trim() !== "") ?? "";
  const text = `${line.trim()} ${first.trim()}`.trim();
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE - 1)}…` : text;
}

/** The parts of a reply in order, line by line in prose and in one step over anything else. Linear in the text. */
export function* walkReply(text: string): Generator<Piece> {
  const lists = createListContext();
  const searchJson = createJsonSearch(text);
  const measure = createMeasure(text);
  const nextNewline = createFinder(text, "\n");
  const nextCommentEnd = createFinder(text, "-->");
  const lead = createLead(text);
  for (let from = 0; from < text.length; ) {
    const newline = nextNewline(from);
    const lineEnd = newline === -1 ? text.length : newline;
    let at = from;
    while (at < lineEnd && isBlankCode(text.charCodeAt(at))) at++;
    if (at === lineEnd) {
      lists.blank();
      from = lineEnd + 1;
      continue;
    }
    const indent = columnsOf(text, from, at);
    const here = lists.line(text, at, lineEnd, indent);
    const container = lists.container(here.indent);
    const isText = here.indent - container <= 3;
    const fence = isText ? openFence(text, here.at, lineEnd, { indent: here.indent, container }) : undefined;
    if (fence !== undefined) {
      const { info, bodyStart } = fence;
      const embedded = embeddedFormat(text, bodyStart);
      const { end, nested } = measure.fence(fence, embedded);
      const body = dedent(text.slice(bodyStart, end.bodyEnd), fence.indent);
      const above = lead.take(embedded, from);
      yield {
        kind: "block",
        info,
        body,
        opens: here.at,
        start: bodyStart,
        closed: end.closed,
        embedded,
        above,
        nested,
        end: end.next,
      };
      from = end.next;
      continue;
    }
    if (isText && text.startsWith("<!--", here.at)) {
      const close = nextCommentEnd(here.at + 2);
      const last = close === -1 ? -1 : nextNewline(close);
      const end = last === -1 ? text.length : last + 1;
      if (close !== -1 && close < lineEnd) lead.line(from);
      else {
        lead.forget();
        yield { kind: "comment", start: here.at, closed: close !== -1, end };
      }
      from = end;
      continue;
    }
    const format = indent <= 3 ? markAt(text, at, lineEnd) : undefined;
    if (format !== undefined) {
      const end = measure.raw(format, from, lineEnd);
      yield {
        kind: "raw",
        format,
        text: text.slice(from, end),
        start: from,
        above: lead.take(format, from),
        end,
      };
      from = end;
      continue;
    }
    const json = searchJson(from, lineEnd, at);
    if (json !== undefined) {
      if (json.piece !== undefined) yield { ...json.piece, end: json.next };
      lead.forget();
      from = json.next;
      continue;
    }
    lead.line(from);
    from = lineEnd + 1;
  }
}

/** The last lines of prose before a position. */
function createLead(text: string) {
  let starts: number[] = [];
  return {
    line(start: number): void {
      starts.push(start);
      if (starts.length > 3) starts.shift();
    },
    forget(): void {
      starts = [];
    },
    take(format: EmbeddedFormat | undefined, until: number): string {
      const [first = until] = starts;
      starts = [];
      return format?.readsProse ? text.slice(Math.max(first, until - 2000), until) : "";
    },
  };
}

function isBlankCode(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}

/**
 * CommonMark fenced code blocks, found by offset: nothing is split into lines, so a block of 50 MB costs one
 * substring. Deviations, all in favour of the text in a block: a line with less indent than the list item does
 * not end a block, and an option of `closeFence` treats indented fences as content.
 */
export interface Fence {
  readonly mark: "`" | "~";
  readonly length: number;
  /** Columns before the fence; as many are taken off each line of the body. */
  readonly indent: number;
  /** Content column of the list item that holds the block, 0 outside of lists. */
  readonly container: number;
  readonly info: string;
  readonly bodyStart: number;
}

export interface FenceEnd {
  readonly bodyEnd: number;
  /** Where the text after the block starts. */
  readonly next: number;
  readonly closed: boolean;
}

/** The fence that opens at `at` (its first mark), when the line `… at … lineEnd` is an opening fence. */
export function openFence(
  text: string,
  at: number,
  lineEnd: number,
  place: { readonly indent: number; readonly container: number },
): Fence | undefined {
  const mark = text.charAt(at);
  if (mark !== "`" && mark !== "~") return undefined;
  let end = at;
  while (end < lineEnd && text.charAt(end) === mark) end++;
  const length = end - at;
  if (length < 3) return undefined;
  const info = text.slice(end, lineEnd).trim();
  if (mark === "`" && info.includes("`")) return undefined;
  return { mark, length, ...place, info, bodyStart: Math.min(lineEnd + 1, text.length) };
}

/** Finds the closing fence. `flush`: only a fence no further in than the opening one closes (diff context lines are indented by one). */
function closeFence(text: string, fence: Fence, options: { readonly flush: boolean }): FenceEnd {
  const maxIndent = options.flush ? fence.indent : fence.container + 3;
  for (const line of fenceLines(text, fence, maxIndent)) {
    if (line.bare) return { bodyEnd: line.start, next: line.next, closed: true };
  }
  return { bodyEnd: text.length, next: text.length, closed: false };
}

/** A Markdown file may hold fences as long as the one around it: they pair up, or the answer is undefined. */
function closeNestedFence(
  text: string,
  fence: Fence,
  limit: number,
): (FenceEnd & { readonly nested: boolean }) | undefined {
  let depth = 1;
  let nested = false;
  for (const line of fenceLines(text, fence, fence.container + 3)) {
    if (line.start - fence.bodyStart > limit) return undefined;
    if (!line.bare) {
      depth += 1;
      nested = true;
    } else {
      depth -= 1;
      if (depth === 0) return { bodyEnd: line.start, next: line.next, closed: true, nested };
    }
  }
  return undefined;
}

interface FenceLine {
  readonly start: number;
  readonly next: number;
  /** Only the fence: it can close a block. Otherwise it has an info string. */
  readonly bare: boolean;
}

/** The lines of the body that start with at least as many of the opening fence's marks. */
function* fenceLines(text: string, fence: Fence, maxIndent: number): Generator<FenceLine> {
  // Not the whole fence: looking for a long run of one character among shorter runs is quadratic.
  const needle = fence.mark.repeat(3);
  let from = fence.bodyStart;
  for (;;) {
    const hit = text.indexOf(needle, from);
    if (hit === -1) return;
    const newline = text.indexOf("\n", hit);
    const lineEnd = newline === -1 ? text.length : newline;
    const start = lineStartBefore(text, hit, fence.bodyStart, maxIndent);
    if (start !== undefined) {
      let end = hit;
      while (end < lineEnd && text.charAt(end) === fence.mark) end++;
      const bare = isBlank(text, end, lineEnd);
      if (end - hit >= fence.length && (bare || isInfo(text, end, lineEnd, fence.mark)))
        yield { start, next: newline === -1 ? text.length : newline + 1, bare };
    }
    if (newline === -1) return;
    from = newline + 1;
  }
}

/** The start of the line when only white space of at most `maxIndent` columns is between it and `at`. */
function lineStartBefore(text: string, at: number, floor: number, maxIndent: number): number | undefined {
  let start = at;
  while (start > floor && at - start <= maxIndent) {
    const code = text.charCodeAt(start - 1);
    if (code !== 0x20 && code !== 0x09) break;
    start--;
  }
  if (start !== floor && text.charCodeAt(start - 1) !== 0x0a) return undefined;
  return columnsOf(text, start, at) <= maxIndent ? start : undefined;
}

function columnsOf(text: string, from: number, to: number): number {
  let columns = 0;
  for (let at = from; at < to; at++) columns += text.charCodeAt(at) === 0x09 ? 4 - (columns % 4) : 1;
  return columns;
}

function isBlank(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}

function isInfo(text: string, from: number, to: number, mark: string): boolean {
  return mark === "~" || !text.slice(from, to).includes("`");
}

/** Takes up to `columns` columns of white space off the start of each line. Line ends stay as they are. */
export function dedent(text: string, columns: number): string {
  if (columns === 0 || text === "") return text;
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf("\n", from);
    const next = newline === -1 ? text.length : newline + 1;
    lines.push(dedentLine(text, from, next, columns));
    from = next;
  }
  return lines.join("");
}

function dedentLine(text: string, from: number, next: number, columns: number): string {
  let at = from;
  let column = 0;
  while (at < next && column < columns) {
    const code = text.charCodeAt(at);
    if (code === 0x20) column += 1;
    else if (code === 0x09) column += 4 - (column % 4);
    else break;
    at++;
  }
  const line = text.slice(at, next);
  // A tab that reaches past the margin leaves its remaining columns.
  return column > columns ? " ".repeat(column - columns) + line : line;
}

/** How far blocks and raw patches reach. */
function createMeasure(text: string) {
  const extentOf = createExtents(text);
  const nextStop = createFinder(text, /\n(?:```|~~~|\*\*\* Begin Patch|<<<<<<< SEARCH|<!--)/g);
  // Bounds the look-ahead for a better end, so that no text makes it quadratic.
  let budget = 4 * text.length;

  const flush = (fence: Fence): FenceEnd => {
    if (budget > 0) {
      const end = closeFence(text, fence, { flush: true });
      if (end.closed) return end;
      budget -= text.length - fence.bodyStart;
    }
    return closeFence(text, fence, { flush: false });
  };

  /** A fence in a here-document is a line of that document, as long as one behind its end closes the block. */
  const pastHereDocument = (fence: Fence, end: FenceEnd): FenceEnd | null => {
    const name = openHereDocument(text.slice(fence.bodyStart, end.bodyEnd));
    if (name === null || !end.closed || budget <= 0) return null;
    budget -= text.length - end.bodyEnd;
    for (let at = end.next; at < text.length; at = lineAfter(text, at))
      if (lineAt(text, at).trim() === name) {
        const whole = closeFence(text, { ...fence, bodyStart: lineAfter(text, at) }, { flush: false });
        return whole.closed ? whole : null;
      }
    return null;
  };

  return {
    fence(fence: Fence, embedded: EmbeddedFormat | undefined): { end: FenceEnd; nested: boolean } {
      const from = extentOf(embedded, fence.bodyStart);
      if (from !== undefined) return { end: flush({ ...fence, bodyStart: from }), nested: false };
      if (embedded !== undefined || /^(diff|patch)\b/i.test(fence.info))
        return { end: flush(fence), nested: false };
      if (isMarkdown(fence.info) && budget > 0) {
        const end = closeNestedFence(text, fence, budget);
        if (end !== undefined) return { end, nested: end.nested };
        budget -= text.length - fence.bodyStart;
      }
      const end = closeFence(text, fence, { flush: false });
      return { end: (SHELL.test(fence.info) && pastHereDocument(fence, end)) || end, nested: false };
    },
    raw(format: EmbeddedFormat, from: number, lineEnd: number): number {
      const found = extentOf(format, from);
      if (found !== undefined) return found;
      if (format.runsToEnd) return text.length;
      const stop = nextStop(lineEnd);
      return stop === -1 ? text.length : stop + 1;
    },
  };
}

const SHELL = /^(?:bash|sh|shell|zsh)\b/i;

/** The line that ends the here-document in which a script stops; null if it stops in none. */
function openHereDocument(script: string): string | null {
  let name: string | null = null;
  if (!script.includes("<<")) return null;
  for (const line of script.split("\n"))
    if (name === null) name = /(?<!<)<<-?[ \t]*(["']?)\\?([A-Za-z_]\w*)\1/.exec(line)?.[2] ?? null;
    else if (line.trim() === name) name = null;
  return name;
}

/** Files whose own text has fences in it. */
function isMarkdown(info: string): boolean {
  return /^(md|mdx|markdown)\b/i.test(info) || /\.(md|mdx|markdown)["']?$/i.test(info);
}
