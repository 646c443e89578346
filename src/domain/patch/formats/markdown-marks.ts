/**
 * The lines by which patches of other formats are known inside a reply, and how far each reaches. The lines of a
 * diff and of a V4A patch all carry a prefix, so a fence inside them is never flush with the margin.
 */
export type EmbeddedFormat = "v4a" | "search-replace" | "diff";

const SEARCH = /^[ \t]{0,3}<{5,9} SEARCH>?[ \t]*\r?$/;
const REPLACE = /^[ \t]{0,3}>{5,9} REPLACE[ \t]*\r?$/;
const HEREDOC = /^apply_patch[ \t]+<<-?[ \t]*['"]?\w+['"]?[ \t]*\r?$/;
/** Marker lines are short: nothing longer is looked at. */
const LONGEST_MARK = 80;

/** Which format starts at `at`, the first character of a line that is not white space. */
export function markAt(text: string, at: number, lineEnd: number): EmbeddedFormat | undefined {
  switch (text.charAt(at)) {
    case "*":
      return line(text, at, lineEnd) === "*** Begin Patch" ? "v4a" : undefined;
    case "<":
      return SEARCH.test(text.slice(at, Math.min(lineEnd, at + LONGEST_MARK))) ? "search-replace" : undefined;
    case "d":
      return text.startsWith("diff --git ", at) ? "diff" : undefined;
    case "-":
      return text.startsWith("--- ", at) && headsHunk(text, lineEnd + 1) ? "diff" : undefined;
    default:
      return undefined;
  }
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
  if (below === "v4a") return HEREDOC.test(line(text, first.at, first.end)) ? "v4a" : undefined;
  if (below === "diff") return /^Index: /.test(line(text, first.at, first.end)) ? "diff" : undefined;
  return below;
}

function line(text: string, at: number, lineEnd: number): string {
  return text.slice(at, Math.min(lineEnd, at + LONGEST_MARK)).trim();
}

/** The next line with something on it. */
function nextLine(text: string, from: number): { at: number; end: number } | undefined {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  if (at >= text.length) return undefined;
  const newline = text.indexOf("\n", at);
  return { at, end: newline === -1 ? text.length : newline };
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/** Finds the offset after `*** End Patch`, undefined when the patch that starts before `from` does not end. */
export function createV4aEnd(text: string): (from: number) => number | undefined {
  const nextEnd = createFinder(text, "*** End Patch");
  const nextBegin = createFinder(text, "\n*** Begin Patch");
  return (from) => {
    const begin = nextBegin(from);
    const end = endOfV4a(text, from, nextEnd);
    return end !== undefined && begin !== -1 && begin < end ? undefined : end;
  };
}

function endOfV4a(text: string, from: number, find: (from: number) => number): number | undefined {
  for (let hit = find(from); hit !== -1; hit = find(hit + 1)) {
    let start = hit;
    while (start > from && hit - start < 80 && /[ \t]/.test(text.charAt(start - 1))) start--;
    if (start > from && text.charAt(start - 1) !== "\n") continue;
    const newline = text.indexOf("\n", hit);
    const lineEnd = newline === -1 ? text.length : newline;
    if (text.slice(hit + 13, Math.min(lineEnd, hit + LONGEST_MARK)).trim() !== "") continue;
    const next = Math.min(lineEnd + 1, text.length);
    if (start === hit || !goesOn(text, next)) return next;
  }
  return undefined;
}

/** An indented end marker may be a context line: then more of the patch follows. */
function goesOn(text: string, from: number): boolean {
  return from < text.length && " +-@*".includes(text.charAt(from));
}

/**
 * The offset after the last of the SEARCH/REPLACE blocks that start at `at`: blocks follow each other with nothing
 * but white space and a path between them. Undefined when the first block does not end.
 */
export function endOfSearchReplace(text: string, at: number): number | undefined {
  let end: number | undefined;
  let from = at;
  for (;;) {
    const replaced = afterReplace(text, from);
    if (replaced === undefined) return end;
    end = replaced;
    const first = nextLine(text, end);
    if (first === undefined) return end;
    if (markAt(text, first.at, first.end) === "search-replace") from = first.end;
    else {
      const second = /^[`~]{3}/.test(text.slice(first.at, first.at + 3))
        ? undefined
        : nextLine(text, first.end + 1);
      if (second === undefined || markAt(text, second.at, second.end) !== "search-replace") return end;
      from = second.end;
    }
  }
}

function afterReplace(text: string, from: number): number | undefined {
  for (
    let hit = text.indexOf(">>>>> REPLACE", from);
    hit !== -1;
    hit = text.indexOf(">>>>> REPLACE", hit + 1)
  ) {
    let start = hit;
    while (start > from && hit - start < 12 && text.charAt(start - 1) !== "\n") start--;
    const newline = text.indexOf("\n", hit);
    const lineEnd = newline === -1 ? text.length : newline;
    if (REPLACE.test(text.slice(start, Math.min(lineEnd, start + LONGEST_MARK))))
      return Math.min(lineEnd + 1, text.length);
  }
  return undefined;
}

/** `indexOf` for positions that only grow: what was found, or not found, is not searched for again. */
export function createFinder(text: string, needle: string): (from: number) => number {
  let found = -2;
  return (from) => {
    if (found === -1 || found >= from) return found;
    found = text.indexOf(needle, from);
    return found;
  };
}
