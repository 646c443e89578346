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

/** The text a person reads: the bytes decoded as UTF-8, invalid ones replaced. */
export function readableText(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, "latin1").toString("utf8");
}

export function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text);
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
