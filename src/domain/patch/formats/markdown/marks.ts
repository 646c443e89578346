/** The lines by which patches of other formats are known inside a reply. */
export type EmbeddedFormat = "v4a" | "search-replace" | "diff";

const SEARCH = /^(<{5,9}|-{5,9}) ?SEARCH>?[ \t]*\r?$/;
const HEREDOC = /^apply_patch[ \t]+<<-?[ \t]*['"]?\w+['"]?$/;
/** Marker lines are short: nothing longer is looked at. */
export const LONGEST_MARK = 80;

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
export function searchMark(text: string, at: number, lineEnd: number): number {
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

export function isFenceMark(text: string, at: number): boolean {
  return text.startsWith("```", at) || text.startsWith("~~~", at);
}

/** The next line with something on it; `at` is its first character that is not white space. */
export function nextLine(
  text: string,
  from: number,
): { readonly at: number; readonly end: number } | undefined {
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
