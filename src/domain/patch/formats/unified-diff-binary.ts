import type { BinaryPatch } from "../edit.ts";

/** Reads the base85 data after `GIT binary patch`: a forward hunk and, for undoing, often a reverse one. */
export type BinaryRead =
  | {
      readonly ok: true;
      readonly forward: BinaryPatch;
      readonly reverse?: BinaryPatch;
      readonly next: number;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const DIGITS = new Int16Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) DIGITS[ALPHABET.charCodeAt(i)] = i;

export function readBinary(lines: readonly string[], at: number): BinaryRead {
  const forward = readBinaryHunk(lines, at);
  if (forward === null) return { ok: false, line: at + 1, message: "unrecognized binary patch" };
  if ("line" in forward) return { ok: false, ...forward };
  const reverse = readBinaryHunk(lines, forward.next);
  if (reverse === null) return { ok: true, forward: forward.patch, next: forward.next };
  if ("line" in reverse) return { ok: false, ...reverse };
  return { ok: true, forward: forward.patch, reverse: reverse.patch, next: reverse.next };
}

type HunkOfBinary = { patch: BinaryPatch; next: number } | { line: number; message: string } | null;

function readBinaryHunk(lines: readonly string[], from: number): HunkOfBinary {
  const header = /^(literal|delta) (\d+)\r?$/.exec(lines[from] ?? "");
  if (!header) return null;
  const chunks: Uint8Array[] = [];
  let at = from + 1;
  for (; at < lines.length; at++) {
    const line = lines[at]!.endsWith("\r") ? lines[at]!.slice(0, -1) : lines[at]!;
    if (line === "") {
      at++;
      break;
    }
    const chunk = decodeLine(line);
    if (chunk === null) return { line: at + 1, message: "corrupt binary patch" };
    chunks.push(chunk);
  }
  const method = header[1] === "delta" ? "delta" : "literal";
  return { patch: { method, size: Number(header[2]), data: concat(chunks) }, next: at };
}

/** One line: a length letter (A–Z: 1–26, a–z: 27–52), then five digits for every four bytes, most significant first. */
function decodeLine(line: string): Uint8Array | null {
  const letter = line.charCodeAt(0);
  const length =
    letter >= 65 && letter <= 90 ? letter - 64 : letter >= 97 && letter <= 122 ? letter - 96 + 26 : 0;
  if (length === 0 || line.length !== 1 + 5 * Math.ceil(length / 4)) return null;
  const out = new Uint8Array(Math.ceil(length / 4) * 4);
  for (let at = 1, to = 0; at < line.length; at += 5, to += 4) {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const digit = DIGITS[line.charCodeAt(at + k)] ?? -1;
      if (digit < 0) return null;
      value = value * 85 + digit;
    }
    if (value > 0xffffffff) return null;
    out[to] = value >>> 24;
    out[to + 1] = (value >>> 16) & 255;
    out[to + 2] = (value >>> 8) & 255;
    out[to + 3] = value & 255;
  }
  return out.subarray(0, length);
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
