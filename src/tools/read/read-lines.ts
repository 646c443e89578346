import type { WorkspaceFiles } from "../../application/ports/platform-view.ts";
import type { LineRange } from "../../domain/patch/compare-lines.ts";
import { succeeds } from "../../domain/platform/error-text.ts";
import { type ResolvedPath, requireFile } from "../resolved-path.ts";
import { ToolError } from "../tool-result.ts";

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

/** "binary" if it is not text. */
export function detectEncoding(start: Uint8Array, whole: boolean): KnownEncoding | "binary" {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  if (start.subarray(0, LOOK_BYTES).includes(0)) return "binary";
  for (const encoding of ["utf-8", "shift_jis", "euc-jp"] as const)
    if (fitsEncoding(encoding, start, whole)) return encoding;
  return "windows-1252";
}

function fitsEncoding(encoding: KnownEncoding, bytes: Uint8Array, whole: boolean): boolean {
  return succeeds(() => new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !whole }));
}

/** The text without its byte order mark. Fails where the caller named an encoding that does not fit. */
function decodeText(bytes: Uint8Array, encoding: KnownEncoding, asked: Encoding): string {
  try {
    return new TextDecoder(encoding, { fatal: asked !== "auto" }).decode(bytes);
  } catch (cause) {
    throw new ToolError("UNSUPPORTED_ENCODING", `the file is not valid ${encoding}`, { cause });
  }
}

export interface ReadLines {
  /** With their original line ends. */
  readonly text: string;
  readonly from: number;
  /** The last line in `text`; `from - 1` when there is none. */
  readonly to: number;
  /** Null where the file is too long to be counted for this. */
  readonly total: number | null;
  readonly sizeBytes: number;
  readonly encoding: KnownEncoding;
  /** The text ends before the range does. */
  readonly cut: boolean;
}

const CHUNK_BYTES = 1024 ** 2;
/** Lines behind the range are counted only up to here. */
const COUNT_BYTES = 64 * CHUNK_BYTES;
/** UTF-16 is decoded as a whole. */
const WIDE_BYTES = 32 * CHUNK_BYTES;
const LF = 10;

/** Reads some lines of a text file in bounded memory, however large it is. */
export function readLines(
  place: ResolvedPath,
  range: LineRange,
  { asked, limitChars }: { readonly asked: Encoding; readonly limitChars: number },
): ReadLines {
  const { size } = requireFile(place);
  const { files } = place.workspace;
  const start = files.readPart(place.path, 0, CHUNK_BYTES);
  const found = asked === "auto" ? detectEncoding(start, start.length >= size) : asked;
  if (found === "binary")
    throw new ToolError("BINARY_FILE", `binary file, ${size} bytes: ${place.given} (use execute_command)`);
  const wide = found.startsWith("utf-16");
  if (wide && size > WIDE_BYTES)
    throw new ToolError("FILE_TOO_LARGE", `${found} file of ${size} bytes; the limit is ${WIDE_BYTES}`);
  const source = wide
    ? inMemory(Buffer.from(decodeText(files.readPart(place.path, 0, size), found, asked), "utf8"))
    : onDisk(files, place.path, size);
  const lines = collect(source, range, limitChars * 4);
  const text = decodeText(lines.bytes, wide ? "utf-8" : found, asked);
  return { ...lines, ...capped(text, lines, limitChars), sizeBytes: size, encoding: found };
}

type LineSource = (offset: number) => Uint8Array;

function onDisk(files: WorkspaceFiles, path: string, size: number): LineSource {
  return (offset) => (offset >= size ? new Uint8Array() : files.readPart(path, offset, CHUNK_BYTES));
}

function inMemory(bytes: Uint8Array): LineSource {
  return (offset) => bytes.subarray(offset, offset + CHUNK_BYTES);
}

interface Collected extends Pick<ReadLines, "from" | "to" | "total" | "cut"> {
  readonly bytes: Uint8Array;
}

/** Every encoding that arrives here has its line feeds as single bytes. */
function collect(source: LineSource, { from, to }: LineRange, limitBytes: number): Collected {
  const parts: Uint8Array[] = [];
  let kept = 0;
  let ended = 0;
  let open = false;
  let cut = false;
  let offset = 0;
  for (let chunk = source(0); chunk.length > 0; chunk = source(offset)) {
    let at = 0;
    while (at < chunk.length) {
      const feed = chunk.indexOf(LF, at);
      const end = feed < 0 ? chunk.length : feed + 1;
      const line = ended + 1;
      if (line >= from && line <= to && !cut) {
        if (kept + (end - at) > limitBytes) cut = true;
        const piece = chunk.subarray(at, Math.min(end, at + limitBytes - kept));
        parts.push(piece);
        kept += piece.length;
      }
      open = feed < 0;
      if (!open) ended += 1;
      at = end;
    }
    offset += chunk.length;
    if ((cut || ended >= to) && offset >= COUNT_BYTES)
      return { bytes: Buffer.concat(parts), from, to: Math.min(to, ended), total: null, cut };
  }
  const total = ended + (open ? 1 : 0);
  return { bytes: Buffer.concat(parts), from, to: Math.min(to, Math.max(total, from - 1)), total, cut };
}

/** Whole lines up to the limit; a single longer line is cut within. */
function capped(text: string, { from, to, cut }: Collected, limitChars: number) {
  if (!cut && text.length <= limitChars) return { text, from, to, cut: false };
  const head = text.slice(0, limitChars);
  const lastFeed = head.lastIndexOf("\n");
  const shown = lastFeed < 0 ? head : head.slice(0, lastFeed + 1);
  const lines = shown.split("\n").length - 1;
  return { text: shown, from, to: from + Math.max(lines, 1) - 1, cut: true };
}

export interface ShownText {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Secrets are masked, and in a protected file every value; a changed text says so, since it must not be written back. */
export function maskShownText(
  { workspace, path, given }: Pick<ResolvedPath, "workspace" | "path" | "given">,
  text: string,
): ShownText {
  const isProtected = workspace.protection.protects(path) !== null;
  const masked = workspace.mask(isProtected ? maskValues(text) : text);
  if (masked === text) return { text, notes: [] };
  const what = isProtected ? "the values of this protected file" : "secrets";
  return { text: masked, notes: [`${given}: **** stands for ${what}; do not write it back`] };
}

/** `NAME=value`, `name: value` and `"name": "value"`: the value is masked for every name. */
function maskValues(text: string): string {
  return text.replace(
    /^([ \t]*(?:export[ \t]+|set[ \t]+)?["']?[\w.$-]+["']?[ \t]*[=:][ \t]*)(\S.*?)(,?[ \t]*\r?)$/gm,
    (line, name: string, value: string, end: string) =>
      value === "{" || value === "[" || value === "****" ? line : `${name}****${end}`,
  );
}
