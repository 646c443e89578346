/** Full-width forms of what has a meaning in a pattern: whoever writes `できますか？` means the question mark. */
const WIDE_SYNTAX = /[（）［］｛｝．＊＋？＾＄｜＼／]/gu;

/** A pattern in the form that messages are brought into. */
export function normalPattern(pattern: string): string {
  return pattern.replace(WIDE_SYNTAX, (wide) => `\\${wide.normalize("NFKC")}`).normalize("NFKC");
}
