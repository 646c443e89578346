import type { Fence, FenceEnd } from "./fences.ts";
import { closeFence, closeNestedFence, columnsOf, openFence } from "./fences.ts";
import { dedent } from "./fences-dedent.ts";
import { createListContext } from "./fences-list.ts";
import { createJsonSearch } from "./json-search.ts";
import { createExtents } from "./markdown-extent.ts";
import type { EmbeddedFormat } from "./markdown-marks.ts";
import { createFinder, embeddedFormat, markAt } from "./markdown-marks.ts";

/** One part of a reply that may hold commands. Offsets are into the reply. */
export type Piece =
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
  | { readonly kind: "json"; readonly value: unknown; readonly start: number }
  | {
      readonly kind: "broken-json";
      readonly at: number;
      readonly reason: string;
      readonly start: number;
      readonly flush: boolean;
    };

/**
 * Walks a model's reply from top to bottom, line by line where there is prose and in one step over what is not:
 * fenced blocks, raw diffs, V4A patches, SEARCH/REPLACE blocks and JSON values. Linear in the text.
 */
export function* walkReply(text: string): Generator<Piece> {
  const lists = createListContext();
  const searchJson = createJsonSearch(text);
  const measure = createMeasure(text);
  const nextNewline = createFinder(text, "\n");
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
        };
        from = end.next;
        continue;
      }
    }
    const format = indent <= 3 ? markAt(text, at, lineEnd) : undefined;
    if (format !== undefined) {
      const end = measure.raw(format, from, lineEnd);
      yield { kind: "raw", format, text: text.slice(from, end), start: from, above: lead.take(format, from) };
      from = end;
      continue;
    }
    const json = searchJson(from, lineEnd, at);
    if (json !== undefined) {
      if (json.piece !== undefined) yield json.piece;
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

/** How far blocks and raw patches reach. */
function createMeasure(text: string) {
  const extents = createExtents(text);
  const stops = ["\n```", "\n~~~", "\n*** Begin Patch", "\n<<<<<<< SEARCH"].map((stop) =>
    createFinder(text, stop),
  );
  // Looking ahead for a better end is paid from this, so that no text makes it quadratic.
  let budget = 4 * text.length;

  const flush = (fence: Fence): FenceEnd => {
    if (budget > 0) {
      const end = closeFence(text, fence, { flush: true });
      if (end.closed) return end;
      budget -= text.length - fence.bodyStart;
    }
    return closeFence(text, fence, { flush: false });
  };

  const extentOf = (format: EmbeddedFormat | undefined, from: number): number | undefined => {
    if (format === "v4a") return extents.v4a(from);
    return format === "search-replace" ? extents.searchReplace(from) : undefined;
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
      return { end: closeFence(text, fence, { flush: false }), nested: false };
    },
    raw(format: EmbeddedFormat, from: number, lineEnd: number): number {
      const found = extentOf(format, from);
      if (found !== undefined) return found;
      if (format === "search-replace") return text.length;
      let end = text.length;
      for (const next of stops) {
        const stop = next(lineEnd);
        if (stop !== -1) end = Math.min(end, stop + 1);
      }
      return end;
    },
  };
}

/** Files whose own text has fences in it. */
function isMarkdown(info: string): boolean {
  return /^(md|mdx|markdown)\b/i.test(info) || /\.(md|mdx|markdown)["']?$/i.test(info);
}
