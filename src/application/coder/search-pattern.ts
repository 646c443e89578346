/** How a line is matched, and a text that every match holds, if one is known: files without it need not be read. */
export interface SearchPattern {
  readonly matches: (line: string) => boolean;
  readonly literal: string | null;
}

/** A repetition of a repetition takes for ever on some lines. */
const NESTED = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)\s*[+*{]/;

/**
 * A coder's search: a regular expression where it is one that ends soon, else the text itself. In small letters alone it
 * finds any case.
 */
export function readSearchPattern(text: string): SearchPattern {
  const flags = text === text.toLowerCase() ? "i" : "";
  if (/[\\^$.*+?()[\]{}|]/.test(text) && !NESTED.test(text)) {
    try {
      const regExp = new RegExp(text, flags);
      return { matches: (line) => regExp.test(line), literal: literalOf(text) };
    } catch {
      // Not an expression: a call such as `add(` is looked for as it stands.
    }
  }
  const wanted = flags === "i" ? text.toLowerCase() : text;
  return {
    matches: (line) => (flags === "i" ? line.toLowerCase() : line).includes(wanted),
    literal: text,
  };
}

/** The longest run of plain letters that every match must hold; none where parts may be left out. */
function literalOf(source: string): string | null {
  if (/[|?*[{]/.test(source)) return null;
  const runs = source.replace(/\\[a-zA-Z]/g, " ").match(/[A-Za-z0-9_]{3,}/g) ?? [];
  return runs.sort((a, b) => b.length - a.length)[0] ?? null;
}
