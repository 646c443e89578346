import { graphemesOf, graphemeWidth, textWidth } from "./text-width.ts";

/** Colours take no columns. */
export const visibleWidth = (text: string) => textWidth(text.replace(/\x1b\[[0-9;]*m/g, ""));

/** Breaks lines between words, never inside of one; Japanese breaks between characters. Further lines are indented. */
export function wrapWords(text: string, columns: number, indent = ""): string {
  return text
    .split("\n")
    .map((line) => wrapLine(line, columns, indent))
    .join("\n");
}

function wrapLine(line: string, columns: number, indent: string): string {
  if (visibleWidth(line) <= columns || columns <= visibleWidth(indent) + 10) return line;
  const lines: string[] = [];
  let current = "";
  for (const piece of piecesOf(line)) {
    if (current !== "" && visibleWidth(current) + visibleWidth(piece.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = indent + piece.trimStart();
    } else current += piece;
  }
  return [...lines, current.trimEnd()].join("\n");
}

/** Words with the space behind them; wide characters stand alone, but none begins a line that only closes. */
function piecesOf(line: string): string[] {
  const pieces: string[] = [];
  for (const word of line.match(/\s*\S+\s*/g) ?? []) {
    let run = "";
    for (const grapheme of graphemesOf(word)) {
      const isWide = graphemeWidth(grapheme) === 2;
      if (isWide && !/^[、。，．）」』】！？ーっゃゅょぁぃぅぇぉ：]/.test(grapheme)) {
        if (run !== "") pieces.push(run);
        run = grapheme;
      } else run += grapheme;
    }
    pieces.push(run);
  }
  return pieces;
}
