import { html, type Markup, type Piece, visible } from "./markup.ts";

/** Words that many languages keep for themselves; a few too many colour nothing that misleads. */
const KEYWORDS = new Set(
  `abstract as async await break case catch class const continue def default defer del do elif else end enum except export extends
  false False final finally fn for from func function go if impl import in interface is lambda let match mod module new nil None not null
  of or package pass private protected pub public raise readonly return select self static struct super switch then this throw trait true
  True try type typeof undefined union unless until use using val var void where while with yield and echo fi done esac begin`.split(
    /\s+/,
  ),
);
const WITH_HASH = new Set([
  "py",
  "python",
  "sh",
  "bash",
  "zsh",
  "shell",
  "console",
  "rb",
  "ruby",
  "yaml",
  "yml",
  "toml",
  "r",
  "perl",
  "make",
  "dockerfile",
]);
const PLAIN = new Set(["", "text", "txt", "plain", "md", "markdown", "csv", "log", "output"]);
/** More than this is read, not admired. */
const MOST_CHARACTERS = 20_000;

/** Strings have a longest length, so that quotes that never close are not searched to the end again and again. */
const TOKENS = (comment: string) =>
  new RegExp(
    `(${comment})|("(?:\\\\.|[^"\\\\\\n]){0,300}"|'(?:\\\\.|[^'\\\\\\n]){0,300}'|\`(?:\\\\.|[^\`\\\\]){0,300}\`)|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`,
    "g",
  );
const SLASH = TOKENS("//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)");
const HASH = TOKENS("#[^\\n]*");

/** A block of code with its comments, strings, numbers and keywords marked. What it does not know stays plain. */
function highlight(code: string, language: string): Piece {
  const name =
    language
      .trim()
      .toLowerCase()
      .split(/[\s:{]/)[0] ?? "";
  if (name === "diff" || name === "patch") return highlightDiff(code);
  if (PLAIN.has(name) || code.length > MOST_CHARACTERS) return code;
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of code.matchAll(WITH_HASH.has(name) ? HASH : SLASH)) {
    const [text, comment, string, number, word] = match;
    const kind =
      comment !== undefined
        ? "c"
        : string !== undefined
          ? "s"
          : number !== undefined
            ? "n"
            : word !== undefined && KEYWORDS.has(word)
              ? "k"
              : null;
    if (kind === null) continue;
    pieces.push(code.slice(at, match.index), html`<span class="hl-${kind}">${text}</span>`);
    at = match.index + text.length;
  }
  return [...pieces, code.slice(at)];
}

function highlightDiff(code: string): Piece {
  return code.split("\n").map((line, n) => {
    const kind = /^(?:\+\+\+|---|@@|diff |index )/.test(line) ? "c" : line.startsWith("+") ? "plus" : "minus";
    const piece =
      kind === "minus" && !line.startsWith("-") ? line : html`<span class="hl-${kind}">${line}</span>`;
    return [n > 0 && "\n", piece];
  });
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

/** The Markdown that replies use: paragraphs, lists, headings, tables, code. Everything else stays as it was typed. */
export function markdown(source: string): Markup {
  const blocks: Markup[] = [];
  const lines = visible(source).split("\n");
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
    } else {
      const list = /^\s*(?:[-*]|\d+\.) /.test(line);
      let end = at + 1;
      while (end < lines.length && !endsParagraph(lines, end, list)) end += 1;
      const part = lines.slice(at, end);
      blocks.push(list ? listOf(part) : paragraph(part));
      at = end;
    }
  }
  return html`${blocks}`;
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

function endsParagraph(lines: readonly string[], at: number, inList: boolean): boolean {
  const line = lines[at] as string;
  return /^\s*$/.test(line) || breaksParagraph(line, inList) || tableAt(lines, at) > 0;
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
