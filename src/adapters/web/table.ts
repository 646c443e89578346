import { html, type Markup, type Piece } from "./markup.ts";

/** `| a | b |` above `|---|:--|`: how many lines the table takes, or 0 where none begins here. */
export function tableAt(lines: readonly string[], at: number): number {
  const [head, rule] = [lines[at] ?? "", lines[at + 1] ?? ""];
  if (!head.includes("|") || !/^\s*\|?(?:\s*:?-{1,}:?\s*\|)+(?:\s*:?-{1,}:?\s*)?$/.test(rule)) return 0;
  if (cellsOf(head).length !== cellsOf(rule).length) return 0;
  let end = at + 2;
  while (end < lines.length && (lines[end] as string).includes("|")) end += 1;
  return end - at;
}

export function tableOf(lines: readonly string[], inline: (text: string) => Piece): Markup {
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
