import { readCode } from "../../domain/texts/code-tokens.ts";
import { html, type Markup, type Piece, visible } from "./markup.ts";

/** A block of code with its comments, strings, numbers and keywords marked. */
function highlight(code: string, language: string): Piece {
  return readCode(code, language).tokens.map(({ text, kind }) =>
    kind === "plain" ? text : html`<span class="hl-${kind}">${text}</span>`,
  );
}

/** `| a | b |` above `|---|:--|`: how many lines the table takes, or 0 where none begins here. */
function tableAt(lines: readonly string[], at: number): number {
  const [head, rule] = [lines[at] ?? "", lines[at + 1] ?? ""];
  if (!head.includes("|") || !/^\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?$/.test(rule.trim())) return 0;
  if (cellsOf(head).length !== cellsOf(rule).length) return 0;
  let end = at + 2;
  while (end < lines.length && (lines[end] as string).includes("|")) end += 1;
  return end - at;
}

function tableOf(lines: readonly string[], inline: (text: string) => Piece): Markup {
  const [head = "", rule = "", ...rows] = lines;
  const sides = cellsOf(rule).map((cell) => (cell.endsWith(":") && !cell.startsWith(":") ? "num" : ""));
  // More cells than the head has stay in the last one: no letter is lost.
  const cells = (line: string) => {
    const all = cellsOf(line);
    const last = sides.length - 1;
    return all.length <= sides.length ? all : [...all.slice(0, last), all.slice(last).join(" | ")];
  };
  return html`<div class="scroll"><table class="plain"><thead><tr>${cells(head).map((cell, n) => html`<th class="${sides[n]}">${inline(cell)}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${cells(row).map((cell, n) => html`<td class="${sides[n]}">${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`;
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** A list in a quote in a list: below this a text stays as it was typed. */
const MOST_DEPTH = 6;

/** The Markdown that replies use: paragraphs, headings, rules, lists, quotes, tables, code, links. The rest stays as typed. */
export function markdown(source: string): Markup {
  const known = RENDERED.get(source);
  if (known !== undefined) RENDERED.delete(source);
  const rendered = known ?? html`${blocksOf(visible(source).split("\n"), 0)}`;
  RENDERED.set(source, rendered);
  if (RENDERED.size > MOST_RENDERED) RENDERED.delete(RENDERED.keys().next().value as string);
  return rendered;
}

/** The last rendered texts: a page that is reloaded during a chat renders only new texts. */
const RENDERED = new Map<string, Markup>();
const MOST_RENDERED = 200;

/** The longest text that is shown at once. Rendering more takes seconds and blocks other requests. */
export const WINDOW_CHARACTERS = 20_000;

/** Where the window that begins here ends: at the end of a paragraph or line, where one is in its second half. */
export function windowEnd(text: string, from: number): number {
  const most = from + WINDOW_CHARACTERS;
  if (most >= text.length) return text.length;
  for (const mark of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(mark, most - mark.length);
    if (at > from + WINDOW_CHARACTERS / 2) return at + mark.length;
  }
  return most;
}

const LIST_ITEM = /^( *)([-*+]|\d{1,9}[.)]) (.*)$/;
const QUOTE = /^ {0,3}> ?/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;

function blocksOf(lines: readonly string[], depth: number): Markup[] {
  const blocks: Markup[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line);
    if (fence !== null) {
      const end = closingFence(lines, at + 1, fence[1] as string);
      const code = lines.slice(at + 1, end).join("\n");
      blocks.push(html`<pre class="code" tabindex="0"><code>${highlight(code, fence[2] ?? "")}</code></pre>`);
      at = end + 1;
      continue;
    }
    const tableLines = tableAt(lines, at);
    if (tableLines > 0) {
      const end = at + tableLines;
      blocks.push(tableOf(lines.slice(at, end), inlineMarkup));
      at = end;
    } else if (/^\s*$/.test(line)) at += 1;
    else if (/^#{1,6} /.test(line)) {
      blocks.push(html`<p class="heading">${inlineMarkup(line.replace(/^#+ /, ""))}</p>`);
      at += 1;
    } else if (RULE.test(line)) {
      blocks.push(html`<hr>`);
      at += 1;
    } else if (QUOTE.test(line) && depth < MOST_DEPTH) {
      let end = at + 1;
      while (end < lines.length && QUOTE.test(lines[end] as string)) end += 1;
      const quoted = lines.slice(at, end).map((one) => one.replace(QUOTE, ""));
      blocks.push(html`<blockquote>${blocksOf(quoted, depth + 1)}</blockquote>`);
      at = end;
    } else if (LIST_ITEM.test(line) && depth < MOST_DEPTH) {
      const end = endOfList(lines, at);
      blocks.push(listOf(lines.slice(at, end), depth));
      at = end;
    } else {
      let end = at + 1;
      while (end < lines.length && !endsParagraph(lines, end)) end += 1;
      blocks.push(paragraph(lines.slice(at, end)));
      at = end;
    }
  }
  return blocks;
}

function closingFence(lines: readonly string[], from: number, fence: string): number {
  const mark = fence[0] as string;
  let end = from;
  for (; end < lines.length; end += 1) {
    const text = (lines[end] as string).trim();
    if (text.length >= fence.length && text === mark.repeat(text.length)) break;
  }
  return end;
}

function endsParagraph(lines: readonly string[], at: number): boolean {
  const line = lines[at] as string;
  return /^\s*$/.test(line) || breaksParagraph(line) || LIST_ITEM.test(line) || tableAt(lines, at) > 0;
}

function breaksParagraph(line: string): boolean {
  return /^ {0,3}(?:`{3,}|~{3,})|^#{1,6} /.test(line) || RULE.test(line) || QUOTE.test(line);
}

/** Lines in columns, as of a table for a terminal. */
const COLUMNS = /\S {3,}\S/;

function paragraph(lines: readonly string[]): Markup {
  if (lines.length > 1 && lines.some((line) => COLUMNS.test(line)))
    return html`<pre class="output" tabindex="0">${lines.join("\n")}</pre>`;
  return html`<p>${lines.map((line, n) => [n > 0 && html`<br>`, inlineMarkup(line)])}</p>`;
}

/** A list continues over a blank line if the next line is one of its items or is indented further. */
function endOfList(lines: readonly string[], from: number): number {
  let end = from + 1;
  for (let at = end; at < lines.length; at += 1) {
    const line = lines[at] as string;
    if (/^\s*$/.test(line)) continue;
    const isWithin = /^ {2,}\S/.test(line) || (LIST_ITEM.test(line) && !RULE.test(line));
    if (!isWithin && (at > end || breaksParagraph(line) || tableAt(lines, at) > 0)) break;
    end = at + 1;
  }
  return end;
}

interface ListEntry {
  readonly text: string;
  /** The deeper content: nested lists, code, quotes. */
  readonly inner: string[];
}

function listOf(lines: readonly string[], depth: number): Markup {
  const first = LIST_ITEM.exec(lines[0] ?? "");
  const indent = first?.[1]?.length ?? 0;
  const entries: { text: string; inner: string[] }[] = [];
  for (const line of lines) {
    const item = LIST_ITEM.exec(line);
    const last = entries.at(-1);
    if (item !== null && ((item[1] ?? "").length <= indent + 1 || last === undefined))
      entries.push({ text: item[3] ?? "", inner: [] });
    else if (last === undefined) continue;
    else if (
      last.inner.length === 0 &&
      item === null &&
      !/^\s*$/.test(line) &&
      !breaksParagraph(line.trimStart())
    )
      last.text += ` ${line.trim()}`;
    else last.inner.push(line);
  }
  const items = entries.map((entry) => listItem(entry, depth));
  const start = /^\d+/.exec(first?.[2] ?? "")?.[0];
  return start === undefined ? html`<ul>${items}</ul>` : html`<ol start="${start.slice(0, 6)}">${items}</ol>`;
}

function listItem({ text, inner }: ListEntry, depth: number): Markup {
  const task = /^\[([ xX])\] (.*)$/.exec(text);
  const said = task === null ? text : `${task[1] === " " ? "☐" : "☑"} ${task[2]}`;
  const margin = inner.reduce(
    (least, line) => (/\S/.test(line) ? Math.min(least, line.search(/\S/)) : least),
    Infinity,
  );
  const nested = inner.map((line) => line.slice(margin));
  return html`<li>${inlineMarkup(said)}${nested.length > 0 && blocksOf(nested, depth + 1)}</li>`;
}

/** Bounded, so that a mark that never closes is not searched to the end again and again. No link leads to a script. */
const INLINE = new RegExp(
  [
    "(?<code>`[^`]+`)",
    "(?<link>!?\\[(?<label>[^\\[\\]]{1,300})\\]\\((?<to>[^\\s()<>]{1,1000})\\))",
    "(?<bold>\\*\\*(?=\\S)(?:[^*]|\\*(?!\\*)){1,500}?(?<=\\S)\\*\\*)",
    "(?<struck>~~(?=\\S)[^~]{1,500}(?<=\\S)~~)",
    "(?<italic>(?<![\\w*])\\*(?=[^\\s*])[^*]{1,500}(?<=[^\\s*])\\*(?![\\w*])|(?<![\\w_])_(?=[^\\s_])[^_]{1,500}(?<=[^\\s_])_(?![\\w_]))",
    "(?<address>https?://[^\\s<>()\"'`*\\u3000-\\u9fff\\uff00-\\uffef]{1,1000}(?<=[\\w/#=&%~+-]))",
  ].join("|"),
  "g",
);
const LEADS_OUT = /^(?:https?:\/\/|mailto:)/i;

function inlineMarkup(text: string, depth = 0): Piece {
  if (depth > MOST_DEPTH) return text;
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    pieces.push(text.slice(at, match.index), inlinePiece(match[0], match.groups ?? {}, depth + 1));
    at = match.index + match[0].length;
  }
  return [...pieces, text.slice(at)];
}

function inlinePiece(
  whole: string,
  { code, link, label = "", to = "", bold, struck, italic }: Readonly<Record<string, string | undefined>>,
  depth: number,
): Piece {
  const inside = (edge: number) => inlineMarkup(whole.slice(edge, -edge), depth);
  if (code !== undefined) return html`<code>${whole.slice(1, -1)}</code>`;
  if (bold !== undefined) return html`<strong>${inside(2)}</strong>`;
  if (struck !== undefined) return html`<s>${inside(2)}</s>`;
  if (italic !== undefined) return html`<em>${inside(1)}</em>`;
  if (link === undefined) return outwardLink(whole, whole);
  if (LEADS_OUT.test(to)) return outwardLink(to, label);
  // A project file has no page, so its path is shown.
  return label === to ? html`<code>${to}</code>` : html`${inlineMarkup(label, depth)} (<code>${to}</code>)`;
}

const outwardLink = (to: string, label: string) =>
  html`<a href="${to}" rel="noopener noreferrer nofollow" target="_blank">${label}</a>`;
