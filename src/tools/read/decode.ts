import { ToolError } from "../tool-error.ts";

/** Names a caller may ask for; `auto` looks at the bytes. */
export const ENCODINGS = [
  "auto",
  "utf-8",
  "utf-16le",
  "utf-16be",
  "shift_jis",
  "euc-jp",
  "iso-2022-jp",
  "windows-1252",
  "gb18030",
  "big5",
  "euc-kr",
] as const;
export type Encoding = (typeof ENCODINGS)[number];
export type KnownEncoding = Exclude<Encoding, "auto">;

/** A NUL byte here, without a mark that says UTF-16, makes a file binary. As git and ripgrep judge it. */
const LOOK_BYTES = 8192;

/** The encoding of a file by its first bytes; "binary" when it is no text. */
export function detectEncoding(start: Uint8Array, whole: boolean): KnownEncoding | "binary" {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  if (start.subarray(0, LOOK_BYTES).includes(0)) return "binary";
  for (const encoding of ["utf-8", "shift_jis", "euc-jp"] as const)
    if (fitsEncoding(encoding, start, whole)) return encoding;
  return "windows-1252";
}

function fitsEncoding(encoding: KnownEncoding, bytes: Uint8Array, whole: boolean): boolean {
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

/** The text without its byte order mark. Fails where the caller named an encoding that does not fit. */
export function decodeText(bytes: Uint8Array, encoding: KnownEncoding, asked: Encoding): string {
  try {
    return new TextDecoder(encoding, { fatal: asked !== "auto" }).decode(bytes);
  } catch (cause) {
    throw new ToolError("UNSUPPORTED_ENCODING", `the file is not valid ${encoding}`, { cause });
  }
}
