/** Takes up to `columns` columns of white space off the start of each line. Line ends stay as they are. */
export function dedent(text: string, columns: number): string {
  if (columns === 0 || text === "") return text;
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf("\n", from);
    const next = newline === -1 ? text.length : newline + 1;
    lines.push(dedentLine(text, from, next, columns));
    from = next;
  }
  return lines.join("");
}

function dedentLine(text: string, from: number, next: number, columns: number): string {
  let at = from;
  let column = 0;
  while (at < next && column < columns) {
    const code = text.charCodeAt(at);
    if (code === 0x20) column += 1;
    else if (code === 0x09) column += 4 - (column % 4);
    else break;
    at++;
  }
  const line = text.slice(at, next);
  // A tab that reaches past the margin leaves its remaining columns.
  return column > columns ? " ".repeat(column - columns) + line : line;
}
