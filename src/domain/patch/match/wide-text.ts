import { fromBytesText, toBytesText } from "./bytes.ts";

/** A UTF-16 file with a byte order mark, as UTF-8 bytes text to be edited, and the way back. */
export interface WideText {
  readonly text: string;
  encode(text: string): Uint8Array;
}

/** Null for anything that is not UTF-16 with a mark, or would not survive the way there and back. */
export function readWideText(bytes: Uint8Array): WideText | null {
  const little = bytes[0] === 0xff && bytes[1] === 0xfe;
  const big = bytes[0] === 0xfe && bytes[1] === 0xff;
  if ((!little && !big) || bytes.length % 2 !== 0) return null;
  const encode = (text: string): Uint8Array => {
    const out = Buffer.from(`\ufeff${Buffer.from(fromBytesText(text)).toString("utf8")}`, "utf16le");
    return big ? out.swap16() : out;
  };
  const copy = Buffer.from(bytes.slice(2));
  const text = toBytesText((big ? copy.swap16() : copy).toString("utf16le"));
  return Buffer.compare(encode(text), bytes) === 0 ? { text, encode } : null;
}
