import type { CliProgram } from "./program.ts";

/** Columns that a text takes on a terminal: East Asian wide characters and emoji take two, marks on a letter and colours none. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmenter().segment(text.replace(/\x1b\[[0-9;]*m/g, "")))
    columns += graphemeWidth(segment);
  return columns;
}

const cache: { segmenter?: Intl.Segmenter } = {};

/** Made when a text needs it: that takes 2 ms. */
function segmenter(): Intl.Segmenter {
  cache.segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return cache.segmenter;
}

const WIDE =
  /^[\u1100-\u115f\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f004}\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f200}-\u{1f320}\u{1f32d}-\u{1f335}\u{1f337}-\u{1f37c}\u{1f37e}-\u{1f393}\u{1f3a0}-\u{1f3ca}\u{1f3cf}-\u{1f3d3}\u{1f3e0}-\u{1f3f0}\u{1f3f4}\u{1f3f8}-\u{1f43e}\u{1f440}\u{1f442}-\u{1f4fc}\u{1f4ff}-\u{1f53d}\u{1f54b}-\u{1f54e}\u{1f550}-\u{1f567}\u{1f57a}\u{1f595}\u{1f596}\u{1f5a4}\u{1f5fb}-\u{1f64f}\u{1f680}-\u{1f6c5}\u{1f6cc}\u{1f6d0}-\u{1f6d2}\u{1f6d5}-\u{1f6d7}\u{1f6dc}-\u{1f6df}\u{1f6eb}\u{1f6ec}\u{1f6f4}-\u{1f6fc}\u{1f7e0}-\u{1f7eb}\u{1f7f0}\u{1f90c}-\u{1f93a}\u{1f93c}-\u{1f945}\u{1f947}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  if (/^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u.test(grapheme)) return 0;
  // A letter with the emoji selector is drawn as an emoji.
  return grapheme.includes("\ufe0f") ? 2 : 1;
}

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
  for (const word of line.match(/\s*\S+\s*/g) ?? []) {
    let run = "";
    for (const { segment: grapheme } of segmenter().segment(word)) {
      const mayBegin = graphemeWidth(grapheme) === 2 || ENDS_CLOSING.test(run);
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
