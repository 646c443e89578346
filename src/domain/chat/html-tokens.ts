export type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string }
  | { readonly kind: "close"; readonly name: string };

/** Elements whose inside is no markup, or nothing to read. */
const RAW_ELEMENTS = /^(?:script|style|noscript|template|svg|iframe|textarea|title)$/;
/** A tag that is longer is none. */
const LONGEST_TAG = 8_000;

/** The tags and texts of a page, one after the other, in one pass; what is no tag is text. */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const next = html.indexOf("<", at);
    if (next !== at) yield { kind: "text", text: html.slice(at, next === -1 ? html.length : next) };
    if (next === -1) return;
    if (html.startsWith("<!", next) || html.startsWith("<?", next)) {
      const mark = html.startsWith("<!--", next) ? "-->" : ">";
      const end = html.indexOf(mark, next + 2);
      at = end === -1 ? html.length : end + mark.length;
      continue;
    }
    const end = tagEnd(html, next);
    const found = end === -1 ? null : /^<(\/?)([A-Za-z][A-Za-z0-9-]*)/.exec(html.slice(next, next + 60));
    if (found === null) {
      yield { kind: "text", text: "<" };
      at = next + 1;
      continue;
    }
    const name = (found[2] as string).toLowerCase();
    at = end + 1;
    if (found[1] === "/") yield { kind: "close", name };
    else if (RAW_ELEMENTS.test(name)) at = afterRaw(html, at, name);
    else yield { kind: "open", name, attributes: html.slice(next + found[0].length, end) };
  }
}

/** Where a tag's `>` stands, outside of quotes; -1 where it is no tag. */
function tagEnd(html: string, start: number): number {
  let quote = "";
  for (let at = start + 1; at < Math.min(html.length, start + LONGEST_TAG); at++) {
    const char = html[at] as string;
    if (quote !== "") {
      if (char === quote) quote = "";
    } else if (char === ">") return at;
    else if (char === "<") return -1;
    else if (char === '"' || char === "'") quote = char;
  }
  return -1;
}

function afterRaw(html: string, from: number, name: string): number {
  const closing = new RegExp(`</${name}[^>]{0,200}>`, "gi");
  closing.lastIndex = from;
  return closing.exec(html) === null ? html.length : closing.lastIndex;
}
