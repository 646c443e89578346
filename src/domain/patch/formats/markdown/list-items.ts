/**
 * The list items that are open at a line of prose, as far as fences need them: a fence may be indented by the
 * content column of its list item plus three. Feed it every line outside of blocks, in order.
 */
export interface ListContext {
  /** Content column of the innermost item that a line with this indent belongs to; 0 outside of lists. */
  container(indent: number): number;
  /** Takes one line in. Returns where its own content starts, past any list markers. */
  line(
    text: string,
    at: number,
    lineEnd: number,
    indent: number,
  ): { readonly at: number; readonly indent: number };
  blank(): void;
}

const DEEPEST = 32;

export function createListContext(): ListContext {
  const columns: number[] = [];
  let afterBlank = false;

  const container = (indent: number): number => {
    for (let i = columns.length - 1; i >= 0; i--) if (columns[i]! <= indent) return columns[i]!;
    return 0;
  };

  return {
    container,
    blank() {
      afterBlank = true;
    },
    line(text, at, lineEnd, indent) {
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
