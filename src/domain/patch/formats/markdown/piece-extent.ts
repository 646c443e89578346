import { closeFence, closeNestedFence, type Fence, type FenceEnd } from "./fences.ts";
import type { EmbeddedFormat } from "./marks.ts";
import { createFinder, isFenceMark, LONGEST_MARK, nextLine, searchMark } from "./marks.ts";

const REPLACE_MARK = /^(>{5,9}|\+{5,9}) ?REPLACE[ \t]*\r?$/;
const DIVIDER = /^={5,9}[ \t]*\r?$/;
const END_PATCH = "*** End Patch";
const V4A_LINE = /^(\*\*\* |@@|[-+ ]\S)/;

/** How far blocks and raw patches reach. */
export function createMeasure(text: string) {
  const extents = createExtents(text);
  const stops = ["\n```", "\n~~~", "\n*** Begin Patch", "\n<<<<<<< SEARCH", "\n<!--"].map((stop) =>
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

/** How far patches of other formats reach that start at a position of the text; undefined when one does not end. */
export interface Extents {
  v4a(from: number): number | undefined;
  /** Blocks follow each other with nothing but white space and a path between them: after the last of these. */
  searchReplace(from: number): number | undefined;
}

export function createExtents(text: string): Extents {
  const nextEnd = createFinder(text, END_PATCH);
  const nextBegin = createFinder(text, "\n*** Begin Patch");
  const nextSearch = createFinder(text, "SEARCH");
  const nextReplace = createFinder(text, "REPLACE");
  const nextDivider = createFinder(text, "\n=====");

  const v4a = (from: number): number | undefined => {
    const begin = nextBegin(from);
    for (let hit = nextEnd(from); hit !== -1; hit = nextEnd(hit + 1)) {
      if (begin !== -1 && begin < hit) return undefined;
      const end = endsPatch(text, hit);
      if (end !== undefined) return end;
    }
    return undefined;
  };

  /** After the closing mark of the block opened by a mark of `length` before `from`. */
  const blockEnd = (from: number, length: number): number | undefined => {
    let other: number | undefined;
    let search = nextSearch(from);
    for (let hit = nextReplace(from); hit !== -1; hit = nextReplace(hit + 1)) {
      for (; search !== -1 && search < hit; search = nextSearch(search + 1)) {
        if (searchMark(text, lineStart(text, search), lineEnd(text, search)) === length)
          return other ?? secondDivider(from, search);
      }
      const found = REPLACE_MARK.exec(
        text.slice(lineStart(text, hit), hit + LONGEST_MARK).split("\n", 1)[0]!,
      );
      if (found === null) continue;
      const end = Math.min(lineEnd(text, hit) + 1, text.length);
      if (found[1]!.length === length) return end;
      other ??= end;
    }
    return other ?? secondDivider(from, text.length);
  };

  /** After the second line of equals signs, which ends a block that has no closing mark. */
  const secondDivider = (from: number, until: number): number | undefined => {
    let count = 0;
    for (let hit = nextDivider(from); hit !== -1 && hit < until; hit = nextDivider(hit + 1)) {
      const end = lineEnd(text, hit + 1);
      if (!DIVIDER.test(text.slice(hit + 1, Math.min(end, hit + LONGEST_MARK)))) continue;
      count += 1;
      if (count === 2) return Math.min(end + 1, text.length);
    }
    return undefined;
  };

  const searchReplace = (from: number): number | undefined => {
    let end: number | undefined;
    let start = searchLine(text, from);
    while (start !== undefined) {
      const next = blockEnd(start.end, start.length);
      if (next === undefined) return end;
      end = next;
      start = searchLine(text, end);
    }
    return end;
  };

  return { v4a, searchReplace };
}

/** The SEARCH line that comes next, or after one more line (a path). */
function searchLine(text: string, from: number): { end: number; length: number } | undefined {
  const first = nextLine(text, from);
  if (first === undefined) return undefined;
  const own = searchMark(text, first.at, first.end);
  if (own > 0) return { end: first.end, length: own };
  const second = isFenceMark(text, first.at) ? undefined : nextLine(text, first.end + 1);
  if (second === undefined) return undefined;
  const below = searchMark(text, second.at, second.end);
  return below > 0 ? { end: second.end, length: below } : undefined;
}

/** The offset after the line when it is an end marker. A padded one is a context line if the patch goes on. */
function endsPatch(text: string, hit: number): number | undefined {
  let start = hit;
  while (start > 0 && hit - start < LONGEST_MARK && /[ \t]/.test(text.charAt(start - 1))) start--;
  if (start > 0 && text.charAt(start - 1) !== "\n") return undefined;
  const end = lineEnd(text, hit);
  if (text.slice(hit + END_PATCH.length, Math.min(end, hit + LONGEST_MARK)).trim() !== "") return undefined;
  const next = Math.min(end + 1, text.length);
  if (start === hit) return next;
  const below = lineEnd(text, next) + 1;
  const goesOn = V4A_LINE.test(text.slice(next, next + 4)) || V4A_LINE.test(text.slice(below, below + 4));
  return goesOn ? undefined : next;
}

/** Only as far back as a mark can reach. */
function lineStart(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < 16 && text.charAt(start - 1) !== "\n") start--;
  return start;
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  return newline === -1 ? text.length : newline;
}
