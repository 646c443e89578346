import { createFinder, type EmbeddedFormat } from "../embedded-format.ts";
import { createExtents } from "../registry.ts";

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

/**
 * For Markdown files put in a fence that is not longer than the fences inside: ```` ```bash ```` opens an inner
 * block and the next bare fence closes that one. Only holds when everything pairs up; otherwise undefined.
 */
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
  /** Nothing but the fence: it can close. Otherwise it has an info string. */
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

export function columnsOf(text: string, from: number, to: number): number {
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
export function createMeasure(text: string) {
  const extentOf = createExtents(text);
  const nextStop = createFinder(text, /\n(?:```|~~~|\*\*\* Begin Patch|<<<<<<< SEARCH|<!--)/g);
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
      if (format.runsToEnd) return text.length;
      const stop = nextStop(lineEnd);
      return stop === -1 ? text.length : stop + 1;
    },
  };
}

/** Files whose own text has fences in it. */
function isMarkdown(info: string): boolean {
  return /^(md|mdx|markdown)\b/i.test(info) || /\.(md|mdx|markdown)["']?$/i.test(info);
}
