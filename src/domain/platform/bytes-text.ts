/** Bytes as text, one char per byte (latin1): bytes that are not valid UTF-8 survive an edit. A string is encoded as UTF-8 first. */
export function toBytesText(input: string | Uint8Array): string {
  if (typeof input !== "string")
    return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString("latin1");
  return isAscii(input) ? input : Buffer.from(input, "utf8").toString("latin1");
}

export function fromBytesText(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

/** The bytes of several bytes texts, one after the other. */
export function joinBytes(parts: readonly string[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) at += bytes.write(part, at, "latin1");
  return bytes;
}

/** The byte order mark of UTF-8, as bytes text. */
export const BOM = "\xef\xbb\xbf";

/** The text a person reads: the bytes decoded as UTF-8, invalid ones replaced. */
export function readableText(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, "latin1").toString("utf8");
}

export function isAscii(text: string): boolean {
  return Buffer.byteLength(text, "utf8") === text.length;
}

/** White space in bytes text. `trim()` also takes 0xA0 and 0x85, which are halves of ordinary letters in UTF-8. */
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
