import { html, type Markup, type Piece } from "./markup.ts";
import { highlight } from "./markdown.ts";
import { tableAt, tableOf } from "./table.ts";
import { visible } from "./visible.ts";

/** The Markdown that replies use: paragraphs, lists, headings, tables, code. Everything else stays as it was typed. */
export function markdown(source: string): Markup {
  const blocks: Markup[] = [];
  const lines = visible(source).split("\n");
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (fence !== null) {
      const end = closingFence(lines, at + 1, fence[1] as string);
      const code = lines.slice(at + 1, end).join("\n");
      blocks.push(html`<pre class="code" tabindex="0"><code>${highlight(code, fence[2] ?? "")}</code></pre>`);
      at = end + 1;
    } else if (tableAt(lines, at) > 0) {
      const end = at + tableAt(lines, at);
      blocks.push(tableOf(lines.slice(at, end), inlineMarkup));
      at = end;
    } else if (/^\s*$/.test(line)) at += 1;
    else if (/^#{1,6} /.test(line)) {
      blocks.push(html`<p class="heading">${inlineMarkup(line.replace(/^#+ /, ""))}</p>`);
      at += 1;
    } else {
      const list = /^\s*(?:[-*]|\d+\.) /.test(line);
      const end = lines.findIndex(
        (next, n) => n > at && (/^\s*$/.test(next) || breaksParagraph(next, list) || tableAt(lines, n) > 0),
      );
      const part = lines.slice(at, end === -1 ? lines.length : end);
      blocks.push(list ? listOf(part) : paragraph(part));
      at += part.length;
    }
  }
  return html`${blocks}`;
}

function closingFence(lines: readonly string[], from: number, fence: string): number {
  const mark = fence[0] as string;
  const end = lines.findIndex((line, n) => {
    const text = line.trim();
    return n >= from && text.length >= fence.length && text === mark.repeat(text.length);
  });
  return end === -1 ? lines.length : end;
}

function breaksParagraph(line: string, inList: boolean): boolean {
  return /^ {0,3}(`{3,}|~{3,})|^#{1,6} /.test(line) || (!inList && /^\s*(?:[-*]|\d+\.) /.test(line));
}

function paragraph(lines: readonly string[]): Markup {
  return html`<p>${lines.map((line, n) => [n > 0 && html`<br>`, inlineMarkup(line)])}</p>`;
}

function listOf(lines: readonly string[]): Markup {
  const items: string[] = [];
  const first = /^\s*(\d+)\. /.exec(lines[0] ?? "")?.[1];
  for (const line of lines) {
    const item = /^\s*(?:[-*]|\d+\.) (.*)$/.exec(line);
    if (item !== null) items.push(item[1] as string);
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  const inner = items.map((item) => html`<li>${inlineMarkup(item)}</li>`);
  return first === undefined ? html`<ul>${inner}</ul>` : html`<ol start="${first.slice(0, 6)}">${inner}</ol>`;
}

function inlineMarkup(text: string): Piece {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part): Piece => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`"))
      return html`<code>${part.slice(1, -1)}</code>`;
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**"))
      return html`<strong>${part.slice(2, -2)}</strong>`;
    return part;
  });
}
