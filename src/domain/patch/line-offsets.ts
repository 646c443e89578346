/** Going through a text line by line without splitting it: a line is the offset at which it starts. */

/** Where the line after the one at `at` starts; the text's length after the last one. */
export function lineAfter(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

/** The line at `at`, without its line feed. */
export function lineAt(text: string, at: number): string {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.slice(at) : text.slice(at, newline);
}

/** 1-based line of an offset, for offsets that only grow: the text is counted through once. */
export function createLineCounter(text: string): (offset: number) => number {
  let line = 1;
  let newline = text.indexOf("\n");
  return (offset) => {
    while (newline !== -1 && newline < offset) {
      line++;
      newline = text.indexOf("\n", newline + 1);
    }
    return line;
  };
}
