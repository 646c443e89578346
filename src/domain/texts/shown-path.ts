/** What would end a line, steer a terminal or turn the reading direction. */
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A path in one line: a name that holds a line end cannot pass for a line of the report. */
export function shownPath(path: string): string {
  return path.replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    if (character === "\n") return "\\n";
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
