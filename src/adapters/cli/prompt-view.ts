import { graphemeWidth, textWidth } from "./text-width.ts";

export interface PromptView {
  /** Draws the prompt and what is typed in the place of what was drawn before. */
  draw(before: readonly string[], after: readonly string[]): void;
  /** Puts the cursor below what was drawn and forgets it. */
  leave(): void;
  /** Wipes what was drawn. */
  erase(): void;
}

interface PromptScreen {
  write(text: string): void;
  columns(): number;
}

/** Lines that wrap, lines that were pasted, and characters of two columns: the cursor stands where it should. */
export function createPromptView(screen: PromptScreen, prompt: string): PromptView {
  const indent = " ".repeat(textWidth(prompt));
  let cursorRow = 0;
  let rows = 1;

  const home = () => `\r${cursorRow > 0 ? `\x1b[${cursorRow}A` : ""}\x1b[J`;

  return {
    draw(before, after) {
      const columns = Math.max(10, screen.columns());
      const head = layOut(
        [...before],
        columns,
        textWidth(prompt),
        { row: 0, column: textWidth(prompt) },
        indent,
      );
      const tail = layOut([...after], columns, textWidth(prompt), head.end, indent);
      let out = `${home()}\x1b[1m${prompt}\x1b[0m${head.text}${tail.text}`;
      // A terminal keeps the cursor on the last column until the next character: make it go on.
      if (tail.end.column === 0 && tail.end.row > 0 && tail.wrapped) out += " \r";
      const up = tail.end.row - head.end.row;
      out += up > 0 ? `\x1b[${up}A` : "";
      out += `\r${head.end.column > 0 ? `\x1b[${head.end.column}C` : ""}`;
      cursorRow = head.end.row;
      rows = tail.end.row + 1;
      screen.write(out);
    },
    leave() {
      const down = rows - 1 - cursorRow;
      screen.write(`${down > 0 ? `\x1b[${down}B` : ""}\r\n`);
      cursorRow = 0;
      rows = 1;
    },
    erase() {
      screen.write(home());
      cursorRow = 0;
      rows = 1;
    },
  };
}

interface CursorPosition {
  readonly row: number;
  readonly column: number;
}

function layOut(
  graphemes: readonly string[],
  columns: number,
  indentWidth: number,
  from: CursorPosition,
  indent: string,
) {
  let { row, column } = from;
  let text = "";
  let wrapped = false;
  for (const grapheme of graphemes) {
    if (grapheme === "\n") {
      text += `\r\n${indent}`;
      row++;
      column = indentWidth;
      wrapped = false;
      continue;
    }
    const width = graphemeWidth(grapheme);
    if (column + width > columns) {
      // A wide character does not fit in the last column; the terminal wraps before it.
      row++;
      column = 0;
    }
    text += grapheme;
    column += width;
    wrapped = false;
    if (column === columns) {
      row++;
      column = 0;
      wrapped = true;
    }
  }
  return { text, end: { row, column }, wrapped };
}
