import type { CliProgram } from "./program.ts";

/** Columns that a text takes on a terminal: East Asian wide characters and emoji take two, marks on a letter and colours none. */
export const textWidth = (text: string): number => Bun.stringWidth(text);

export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let cut = "";
  for (const letter of text) {
    if (textWidth(cut + letter) > columns - 1) break;
    cut += letter;
  }
  return `${cut}…`;
}

/** Breaks lines between words, never inside of one; Japanese breaks between characters. Further lines are indented. */
export function wrapWords(text: string, columns: number, indent = ""): string {
  return text
    .split("\n")
    .map((line) => wrapLine(line, columns, indent))
    .join("\n");
}

/** A program whose sentences break between words. */
export function wrapOutput(program: CliProgram): CliProgram {
  const wrap = (text: string) => wrapWords(text, program.columns(), "  ");
  return {
    ...program,
    out: (text) => program.out(wrap(text)),
    err: (text) => program.err(wrap(text)),
    askLine: (question, options) => program.askLine(`${wrap(question.trimEnd())} `, options),
  };
}

function wrapLine(line: string, columns: number, indent: string): string {
  if (textWidth(line) <= columns || columns <= textWidth(indent) + 10) return line;
  const lines: string[] = [];
  let current = "";
  for (const piece of piecesOf(line)) {
    if (current !== "" && textWidth(current) + textWidth(piece.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = indent + piece.trimStart();
    } else current += piece;
  }
  return [...lines, current.trimEnd()].join("\n");
}

const CLOSING = "[、。，．）」』】！？ーっゃゅょぁぃぅぇぉ：]";
const [BEGINS_CLOSING, ENDS_CLOSING] = [new RegExp(`^${CLOSING}`), new RegExp(`${CLOSING}$`)];

/** Words with their trailing space; each wide character is a piece, but closing punctuation never begins a line. */
function piecesOf(line: string): string[] {
  const pieces: string[] = [];
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const word of line.match(/\s*\S+\s*/g) ?? []) {
    let run = "";
    for (const { segment: grapheme } of segmenter.segment(word)) {
      const mayBegin = textWidth(grapheme) === 2 || ENDS_CLOSING.test(run);
      if (mayBegin && !BEGINS_CLOSING.test(grapheme)) {
        if (run !== "") pieces.push(run);
        run = grapheme;
      } else run += grapheme;
    }
    pieces.push(run);
  }
  return pieces;
}

export const padText = (text: string, columns: number) =>
  text.padEnd(text.length + Math.max(0, columns - textWidth(text)));

/** Cells of rows below each other, filled up by how wide they look. */
export function padColumns(rows: readonly (readonly string[])[]): string[][] {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => textWidth(row[column] ?? "")))) ?? [];
  return rows.map((row) => row.map((cell, at) => padText(cell, widths[at] ?? 0)));
}

export const columnsOf = (rows: readonly (readonly string[])[]): string =>
  padColumns(rows)
    .map((row) => row.join("  ").trimEnd())
    .join("\n");
