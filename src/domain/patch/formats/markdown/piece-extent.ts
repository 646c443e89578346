/** The lines by which patches of other formats are known inside a reply. */
export type EmbeddedFormat = "v4a" | "search-replace" | "diff";

const SEARCH = /^(<{5,9}|-{5,9}) ?SEARCH>?[ \t]*\r?$/;
const HEREDOC = /^apply_patch[ \t]+<<-?[ \t]*['"]?\w+['"]?$/;
/** Marker lines are short: nothing longer is looked at. */
const LONGEST_MARK = 80;

/** Which format starts at `at`, the first character of a line that is not white space. */
export function markAt(text: string, at: number, lineEnd: number): EmbeddedFormat | undefined {
  switch (text.charAt(at)) {
    case "*":
      return markLine(text, at, lineEnd) === "*** Begin Patch" ? "v4a" : undefined;
    case "<":
      return searchMark(text, at, lineEnd) > 0 ? "search-replace" : undefined;
    case "d":
      return text.startsWith("diff --git ", at) ? "diff" : undefined;
    case "-":
      if (searchMark(text, at, lineEnd) > 0) return "search-replace";
      return text.startsWith("--- ", at) && headsHunk(text, lineEnd + 1) ? "diff" : undefined;
    default:
      return undefined;
  }
}

/** How long the mark of a SEARCH line is; 0 when the line is none. */
function searchMark(text: string, at: number, lineEnd: number): number {
  return SEARCH.exec(text.slice(at, Math.min(lineEnd, at + LONGEST_MARK)))?.[1]?.length ?? 0;
}

function headsHunk(text: string, from: number): boolean {
  if (!text.startsWith("+++ ", from)) return false;
  const newline = text.indexOf("\n", from);
  return newline !== -1 && text.startsWith("@@", newline + 1);
}

/** The format that a fenced body holds: its first line says so, for SEARCH/REPLACE also the line after a path. */
export function embeddedFormat(text: string, from: number): EmbeddedFormat | undefined {
  const first = nextLine(text, from);
  if (first === undefined) return undefined;
  const own = markAt(text, first.at, first.end);
  if (own !== undefined) return own;
  const second = nextLine(text, first.end + 1);
  if (second === undefined) return undefined;
  const below = markAt(text, second.at, second.end);
  if (below === "v4a") return HEREDOC.test(markLine(text, first.at, first.end)) ? "v4a" : undefined;
  if (below === "diff") return text.startsWith("Index: ", first.at) ? "diff" : undefined;
  return isFenceMark(text, first.at) ? undefined : below;
}

function markLine(text: string, at: number, lineEnd: number): string {
  return text.slice(at, Math.min(lineEnd, at + LONGEST_MARK)).trim();
}

function isFenceMark(text: string, at: number): boolean {
  return text.startsWith("```", at) || text.startsWith("~~~", at);
}

/** The next line with something on it; `at` is its first character that is not white space. */
function nextLine(text: string, from: number): { readonly at: number; readonly end: number } | undefined {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  if (at >= text.length) return undefined;
  const newline = text.indexOf("\n", at);
  return { at, end: newline === -1 ? text.length : newline };
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/** `indexOf` that remembers: asked for positions that grow, it goes through the text once. */
export function createFinder(text: string, needle: string): (from: number) => number {
  let askedFrom = 0;
  let found = -2;
  return (from) => {
    const known = found !== -2 && askedFrom <= from && (found === -1 || from <= found);
    if (!known) {
      askedFrom = from;
      found = text.indexOf(needle, from);
    }
    return found;
  };
}

/**
 * CommonMark fenced code blocks, found by offset: nothing is split into lines, so a block of 50 MB costs one
 * substring. Deviations, all in favour of the text in a block: a line with less indent than the list item does
 * not end a block, and `closeFence` can be told that indented fences are content.
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

/** The start of the line when only white space of at most `maxIndent` columns stands between it and `at`. */
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
