import { attemptOr } from "../platform/error-text.ts";
import entities from "./named-entities.json" with { type: "json" };

const NAMED_ENTITIES: Readonly<Record<string, string>> = entities;

/** The entities that pages use; an unknown one stays as it is. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED_ENTITIES[String(name).toLowerCase()] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : whole;
  });
}

type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string }
  | { readonly kind: "close"; readonly name: string };

/** Elements whose content is not markup, or not for readers. */
const RAW_ELEMENTS = /^(?:script|style|noscript|template|svg|iframe|textarea|title)$/;
/** A longer tag is not treated as a tag. */
const LONGEST_TAG = 8_000;

/** The tags and texts of a page, one after the other, in one pass; everything but tags is text. */
function* htmlTokens(html: string): Generator<HtmlToken> {
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

/** The index of a tag's `>` outside of quotes; -1 if this is not a tag. */
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

/** Elements that are there for finding one's way, not for reading. */
const SILENT_ELEMENTS = new Set(["nav", "footer", "aside", "form", "head"]);
const BLOCK_ELEMENTS = new Set(
  "p div section article main header table ul ol dl figure blockquote details".split(" "),
);

interface Page {
  readonly title: string;
  readonly markdown: string;
}

/** A page as Markdown by its tags alone: broken markup gives plainer text, never an error. `base` makes links absolute. */
export function htmlToMarkdown(html: string, base: string): Page {
  const out = createWriter(base);
  let silent = "";
  let depth = 0;
  for (const token of htmlTokens(html)) {
    if (silent !== "") {
      if (token.kind !== "text" && token.name === silent) depth += token.kind === "open" ? 1 : -1;
      // A page whose head is never closed still has a body.
      if (depth === 0 || (silent === "head" && token.kind === "open" && token.name === "body")) silent = "";
    } else if (token.kind === "text") out.text(decodeEntities(token.text));
    else if (token.kind === "close") out.close(token.name);
    else if (SILENT_ELEMENTS.has(token.name)) [silent, depth] = [token.name, 1];
    else out.open(token.name, token.attributes);
  }
  const title = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html.slice(0, 100_000))?.[1] ?? "";
  return { title: decodeEntities(title).replace(/\s+/g, " ").trim(), markdown: out.done() };
}

/** Written text is only looked at where it ends: the rest is put away. */
const KEPT = 256;

function createWriter(base: string) {
  const away: string[] = [];
  let written = "";
  let preformatted = false;
  const links: string[] = [];
  const lists: { ordered: boolean; item: number }[] = [];
  const putAway = () => {
    if (written.length < 4 * KEPT) return;
    away.push(written.slice(0, -KEPT));
    written = written.slice(-KEPT);
  };
  const fresh = (lines: 1 | 2) => {
    putAway();
    const kept = written.replace(/[ \t]+$/, "");
    const ends = /\n*$/.exec(kept)?.[0].length ?? 0;
    written = kept === "" ? "" : kept + "\n".repeat(Math.max(0, lines - ends));
  };
  const put = (linesBefore: 1 | 2, text: string, linesAfter?: 2) => {
    fresh(linesBefore);
    written += text;
    if (linesAfter !== undefined) fresh(linesAfter);
  };
  return {
    text(text: string) {
      putAway();
      const plain = text.replace(/\s+/g, " ");
      written += preformatted ? text : /(?:^|\s)$/.test(written) ? plain.trimStart() : plain;
    },
    open(name: string, attributes: string) {
      if (/^h[1-6]$/.test(name)) put(2, `${"#".repeat(Number(name[1]))} `);
      else if (name === "pre") {
        put(2, "```\n");
        preformatted = true;
      } else if (name === "code" && !preformatted) written += "`";
      else if (name === "br" || name === "tr" || name === "dt" || name === "dd") fresh(1);
      else if (name === "td" || name === "th") written += "| ";
      else if (name === "hr") put(2, "---", 2);
      else if (name === "li") {
        const list = lists.at(-1);
        if (list !== undefined) list.item++;
        const mark = list?.ordered === true ? `${list.item}. ` : "- ";
        put(1, `${"  ".repeat(Math.max(0, lists.length - 1))}${mark}`);
      } else if (name === "a") {
        const href = toLink(attributes, base);
        links.push(href);
        if (href !== "") written += "[";
      } else if (name === "img") {
        const alt = attributeOf(attributes, "alt");
        if (alt !== "") written += `(image: ${alt})`;
      } else if (BLOCK_ELEMENTS.has(name)) {
        fresh(lists.length > 0 ? 1 : 2);
        if (name === "ul" || name === "ol") lists.push({ ordered: name === "ol", item: 0 });
        if (name === "blockquote") written += "> ";
      }
    },
    close(name: string) {
      if (/^h[1-6]$/.test(name)) fresh(2);
      else if (name === "pre") {
        preformatted = false;
        put(1, "```", 2);
      } else if (name === "code" && !preformatted) written += "`";
      else if (name === "td" || name === "th") written += " ";
      else if (name === "a") {
        const href = links.pop() ?? "";
        if (href !== "") written = `${written.trimEnd()}](${href})`;
      } else if (BLOCK_ELEMENTS.has(name)) {
        if (name === "ul" || name === "ol") lists.pop();
        fresh(lists.length > 0 ? 1 : 2);
      }
    },
    done: () =>
      `${away.join("")}${written}`
        .replace(/\[\]\([^)\n]{0,2000}\)/g, "")
        .replace(/[ \t]+\n/g, "\n")
        .replace(/\n{3,}/g, "\n\n")
        .trim(),
  };
}

/** Empty for what leads nowhere: an anchor of the page, a script. */
function toLink(attributes: string, base: string): string {
  const href = attributeOf(attributes, "href");
  if (href === "" || href.startsWith("#")) return "";
  const url = URL.parse(href, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : "";
}

function attributeOf(attributes: string, name: string): string {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(attributes);
  return decodeEntities(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
}

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly excerpt: string;
}

const MOST_RESULTS = 10;
const EXCERPT_CHARS = 300;
/** Where the engines that answer in JSON keep their list. */
const RESULT_LISTS = ["results", "items", "webPages", "web", "data", "organic", "value"];

/** The results of a search engine that answers in JSON, whichever it is; none where it is something else. */
export function readSearchResults(text: string): SearchResult[] {
  return listIn(
    attemptOr(undefined, () => JSON.parse(text)),
    3,
  )
    .flatMap(resultOf)
    .slice(0, MOST_RESULTS);
}

function listIn(value: unknown, depth: number): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  for (const name of RESULT_LISTS) {
    const found = listIn((value as Readonly<Record<string, unknown>>)[name], depth - 1);
    if (found.length > 0) return found;
  }
  return [];
}

function resultOf(item: unknown): SearchResult[] {
  if (typeof item !== "object" || item === null) return [];
  const fields = item as Readonly<Record<string, unknown>>;
  const first = (...names: readonly string[]): string => {
    const found = names.map((name) => fields[name]).find((one) => typeof one === "string" && one !== "");
    return typeof found === "string" ? found.replace(/\s+/g, " ").trim() : "";
  };
  const url = first("url", "link", "href");
  if (!/^https?:\/\//.test(url)) return [];
  const excerpt = first("content", "snippet", "description", "body", "text").slice(0, EXCERPT_CHARS);
  return [{ title: first("title", "name") || url, url, excerpt }];
}
