import type { BinaryPatch } from "../../patch-command.ts";
import { stripCr } from "./diff-file-names.ts";
import type { DiffText } from "./text.ts";

/** Reads the base85 data after `GIT binary patch`: a forward hunk and, for undoing, often a reverse one. */
export type BinaryRead =
  | {
      readonly ok: true;
      readonly forward: BinaryPatch;
      readonly reverse?: BinaryPatch;
      readonly next: number;
    }
  | { readonly ok: false; readonly at: number; readonly message: string };

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

export function readBinary(diff: DiffText, at: number): BinaryRead {
  const digits = new Int16Array(128).fill(-1);
  for (let i = 0; i < ALPHABET.length; i++) digits[ALPHABET.charCodeAt(i)] = i;
  const forward = readBinaryHunk(diff, at, digits);
  if (forward === null) return { ok: false, at, message: "unrecognized binary patch" };
  if ("message" in forward) return { ok: false, ...forward };
  const reverse = readBinaryHunk(diff, forward.next, digits);
  if (reverse === null) return { ok: true, forward: forward.patch, next: forward.next };
  if ("message" in reverse) return { ok: false, ...reverse };
  return { ok: true, forward: forward.patch, reverse: reverse.patch, next: reverse.next };
}

type HunkOfBinary = { patch: BinaryPatch; next: number } | { at: number; message: string } | null;

function readBinaryHunk(diff: DiffText, from: number, digits: Int16Array): HunkOfBinary {
  const line = stripCr(diff.line(from));
  const header = /^(literal|delta) (\d+)$/.exec(line);
  if (!header) return isCutHeader(diff, from, line) ? { at: from, message: "corrupt binary patch" } : null;
  const start = diff.after(from);
  const end = endOfData(diff, start);
  // Five letters for four bytes; the last four of a line may be cut.
  const data = new Uint8Array(end - start + 4);
  let size = 0;
  for (let at = start; at < end; at = diff.after(at)) {
    const length = decodeLine(stripCr(diff.line(at)), data, size, digits);
    if (length < 0) return { at, message: "corrupt binary patch" };
    size += length;
  }
  const method = header[1] === "delta" ? "delta" : "literal";
  return {
    patch: { method, size: Number(header[2]), data: data.slice(0, size) },
    next: end < diff.text.length ? diff.after(end) : end,
  };
}

/** What was to be `literal 12`: the word with something else after it, or the beginning of it at the end of the text. */
function isCutHeader(diff: DiffText, from: number, line: string): boolean {
  if (/^(literal|delta)( |$)/.test(line)) return true;
  const begins = line !== "" && ("literal ".startsWith(line) || "delta ".startsWith(line));
  return begins && diff.text.slice(diff.after(from)).trim() === "";
}

/** The empty line after the data, or the end of the text. */
function endOfData(diff: DiffText, from: number): number {
  let at = from;
  while (at < diff.text.length && stripCr(diff.line(at)) !== "") at = diff.after(at);
  return at;
}

/**
 * One line: a length letter (A–Z: 1–26, a–z: 27–52), then five digits for every four bytes, most significant first.
 * Returns how many bytes it put at `from`, -1 when the line is no such line.
 */
function decodeLine(line: string, out: Uint8Array, from: number, digits: Int16Array): number {
  const letter = line.charCodeAt(0);
  const length =
    letter >= 65 && letter <= 90 ? letter - 64 : letter >= 97 && letter <= 122 ? letter - 96 + 26 : 0;
  if (length === 0 || line.length !== 1 + 5 * Math.ceil(length / 4)) return -1;
  for (let at = 1, to = from; at < line.length; at += 5, to += 4) {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const digit = digits[line.charCodeAt(at + k)] ?? -1;
      if (digit < 0) return -1;
      value = value * 85 + digit;
    }
    if (value > 0xffffffff) return -1;
    out[to] = value >>> 24;
    out[to + 1] = (value >>> 16) & 255;
    out[to + 2] = (value >>> 8) & 255;
    out[to + 3] = value & 255;
  }
  return length;
}
