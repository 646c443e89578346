import { html, type Markup, type Piece } from "../markup.ts";
import { visible } from "./visible.ts";

/** The little Markdown that replies use: paragraphs, lists, headings, code. Everything else stays as it was typed. */
export function markdown(source: string): Markup {
  const blocks: Markup[] = [];
  const lines = visible(source).split("\n");
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (fence !== null) {
      const end = closing(lines, at + 1, fence[1] as string);
      blocks.push(html`<pre class="code"><code>${lines.slice(at + 1, end).join("\n")}</code></pre>`);
      at = end + 1;
    } else if (/^\s*$/.test(line)) at += 1;
    else if (/^#{1,6} /.test(line)) {
      blocks.push(html`<p class="heading">${inline(line.replace(/^#+ /, ""))}</p>`);
      at += 1;
    } else {
      const list = /^\s*(?:[-*]|\d+\.) /.test(line);
      const end = lines.findIndex((next, n) => n > at && (/^\s*$/.test(next) || breaks(next, list)));
      const part = lines.slice(at, end === -1 ? lines.length : end);
      blocks.push(list ? listOf(part) : paragraph(part));
      at += part.length;
    }
  }
  return html`${blocks}`;
}

function closing(lines: readonly string[], from: number, fence: string): number {
  const mark = fence[0] as string;
  const end = lines.findIndex((line, n) => {
    const text = line.trim();
    return n >= from && text.length >= fence.length && text === mark.repeat(text.length);
  });
  return end === -1 ? lines.length : end;
}

function breaks(line: string, inList: boolean): boolean {
  return /^ {0,3}(`{3,}|~{3,})|^#{1,6} /.test(line) || (!inList && /^\s*(?:[-*]|\d+\.) /.test(line));
}

function paragraph(lines: readonly string[]): Markup {
  return html`<p>${lines.map((line, n) => [n > 0 && html`<br>`, inline(line)])}</p>`;
}

function listOf(lines: readonly string[]): Markup {
  const items: string[] = [];
  for (const line of lines) {
    const item = /^\s*(?:[-*]|\d+\.) (.*)$/.exec(line);
    if (item !== null) items.push(item[1] as string);
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  return html`<ul>${items.map((item) => html`<li>${inline(item)}</li>`)}</ul>`;
}

function inline(text: string): Piece {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part): Piece => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`"))
      return html`<code>${part.slice(1, -1)}</code>`;
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**"))
      return html`<strong>${part.slice(2, -2)}</strong>`;
    return part;
  });
}
