/**
 * White space in bytes text. `trim()` must not be used there: it takes 0xA0 and 0x85 for white space, which are
 * halves of ordinary letters in UTF-8.
 */
function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

export function trimEndBlank(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end--;
  return end === text.length ? text : text.slice(0, end);
}

/** Length of the leading white space. */
export function indentLength(text: string): number {
  let at = 0;
  while (at < text.length && isBlank(text.charCodeAt(at))) at++;
  return at;
}

export function trimBlank(text: string): string {
  const end = trimEndBlank(text);
  const start = indentLength(end);
  return start === 0 ? end : end.slice(start);
}
