import { decodeEntities } from "./entities.ts";
import { htmlTokens } from "./html-tokens.ts";

/** Elements that are there for finding one's way, not for reading. */
const SILENT_ELEMENTS = new Set(["nav", "footer", "aside", "form", "head"]);
const BLOCK_ELEMENTS = new Set(
  "p div section article main header table ul ol dl figure blockquote details".split(" "),
);

interface Page {
  readonly title: string;
  readonly markdown: string;
}

/**
 * What a page says, as Markdown: headings, paragraphs, lists, links, code, rows of tables. By its tags alone, without a
 * tree: broken markup gives plainer text, never an error. `base` makes links whole.
 */
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
  return {
    text(text: string) {
      putAway();
      if (preformatted) written += text;
      else {
        const plain = text.replace(/\s+/g, " ");
        written += /(?:^|\s)$/.test(written) ? plain.trimStart() : plain;
      }
    },
    open(name: string, attributes: string) {
      if (/^h[1-6]$/.test(name)) {
        fresh(2);
        written += `${"#".repeat(Number(name[1]))} `;
      } else if (name === "pre") {
        fresh(2);
        written += "```\n";
        preformatted = true;
      } else if (name === "code" && !preformatted) written += "`";
      else if (name === "br" || name === "tr" || name === "dt" || name === "dd") fresh(1);
      else if (name === "td" || name === "th") written += "| ";
      else if (name === "hr") {
        fresh(2);
        written += "---";
        fresh(2);
      } else if (name === "li") {
        fresh(1);
        const list = lists.at(-1);
        if (list !== undefined) list.item++;
        const mark = list?.ordered === true ? `${list.item}. ` : "- ";
        written += `${"  ".repeat(Math.max(0, lists.length - 1))}${mark}`;
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
        fresh(1);
        written += "```";
        fresh(2);
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
