import { createFinder, type EmbeddedFormat } from "../embedded-format.ts";
import { jsonMeaning, scanJson, skipJsonSpace } from "../json.ts";
import { embeddedFormat, markAt } from "../registry.ts";
import { columnsOf, createMeasure, dedent, openFence } from "./piece-extent.ts";

const DEEPEST = 32;

/**
 * The list items that are open at a line of prose, as far as fences need them: a fence may be indented by the
 * content column of its list item plus three. Feed it every line outside of blocks, in order.
 */
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
    /** Takes one line in. Returns where its own content starts, past any list markers. */
    line(
      text: string,
      at: number,
      lineEnd: number,
      indent: number,
    ): { readonly at: number; readonly indent: number } {
      let here = { at, indent };
      let marker = listMarker(text, at, lineEnd);
      const outdents = (column: number): boolean => column > here.indent;
      // A paragraph may go on without indent (lazy continuation); after a blank line or at a marker it may not.
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

/** JSON that means commands, or was surely meant to. */
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

/**
 * Finds JSON commands in prose: an array of objects anywhere on the line, an object at its start. Scanned
 * text is never scanned again, so a text of only brackets stays linear.
 */
function createJsonSearch(
  text: string,
): (from: number, lineEnd: number, lineAt: number) => JsonHit | undefined {
  const nextArray = createFinder(text, "[");
  const nextType = createFinder(text, '"type"');
  const nextAction = createFinder(text, '"action"');
  /** Broken JSON that was surely meant as commands; it must not be passed over in silence. */
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

/**
 * Walks a model's reply from top to bottom, line by line where there is prose and in one step over what is not:
 * fenced blocks, raw diffs, V4A patches, SEARCH/REPLACE blocks and JSON values. Linear in the text.
 */
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
    if (here.indent - container <= 3) {
      const fence = openFence(text, here.at, lineEnd, { indent: here.indent, container });
      if (fence !== undefined) {
        const embedded = embeddedFormat(text, fence.bodyStart);
        const { end, nested } = measure.fence(fence, embedded);
        const body = dedent(text.slice(fence.bodyStart, end.bodyEnd), fence.indent);
        const { info, bodyStart } = fence;
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
    }
    if (here.indent - container <= 3 && text.startsWith("<!--", here.at)) {
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
