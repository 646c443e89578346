import { createMeasure } from "./piece-extent.ts";
import { columnsOf, dedent, openFence } from "./fences.ts";
import { createJsonSearch, type JsonPiece } from "./json-in-prose.ts";
import { createListContext } from "./list-items.ts";
import type { EmbeddedFormat } from "./marks.ts";
import { createFinder, embeddedFormat, markAt } from "./marks.ts";

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
  /** An HTML comment of several lines: whatever stands in it is not shown, so it is not carried out. */
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
      return format === "search-replace" ? text.slice(Math.max(first, until - 2000), until) : "";
    },
  };
}

function isBlankCode(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}
