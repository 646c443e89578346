/**
 * Bytes seen as text: one char per byte (latin1). Matching works on this form, so that bytes which are not
 * valid UTF-8 survive an edit. A JavaScript string is encoded as UTF-8 first; pure ASCII is the same in both.
 */
export function toBytesText(input: string | Uint8Array): string {
  if (typeof input !== "string") return viewOf(input).toString("latin1");
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

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
