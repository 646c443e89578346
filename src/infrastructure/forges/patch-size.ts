import { inflateSync } from "node:zlib";

/** What a patch would make git hold and write, by what it declares, before git reads it. */
export interface PatchSize {
  readonly files: number;
  /** Segments of all paths: each may become a tree of its own. */
  readonly segments: number;
  /** Bytes of its binary files, unpacked. */
  readonly unpackedBytes: number;
}

const PATCH_LIMITS: PatchSize = {
  files: 20_000,
  segments: 200_000,
  unpackedBytes: 256 * 1024 ** 2,
};

const PATH_SEGMENTS = 100;

/**
 * Why a patch is not given to git; null when it may be. A patch comes out of a container where anybody's code ran: a few
 * bytes may unpack to gigabytes, a delta may copy its base over and over, and a path may nest without end. Our own
 * patches have no copies.
 */
export function findPatchTrouble(patch: Uint8Array, limits: PatchSize = PATCH_LIMITS): string | null {
  const text = Buffer.from(patch.buffer, patch.byteOffset, patch.byteLength).toString("latin1");
  let files = 0;
  let segments = 0;
  let unpacked = 0;
  // Lines of a hunk begin with a blank, a sign or a backslash, and packed lines hold no blank.
  for (const { 0: line, index } of text.matchAll(PATCH_HEADER)) {
    if (line.startsWith("copy ")) return `not a patch of ours: ${line.slice(0, 80)}`;
    if (line.startsWith("diff --git ")) {
      files += 1;
      const deep = Math.ceil(line.split("/").length / 2);
      if (deep > PATH_SEGMENTS) return `a path of more than ${PATH_SEGMENTS} folders`;
      segments += deep;
    } else {
      const [, kind, size] = /^(literal|delta) (\d+)$/.exec(line) ?? [];
      if (kind === undefined) return `not a patch of ours: ${line.slice(0, 80)}`;
      unpacked += Number(size);
      if (unpacked > limits.unpackedBytes) break;
      if (kind === "delta") unpacked += deltaResult(text, index + line.length + 1, Number(size));
    }
  }
  if (files > limits.files) return `more than ${limits.files} files`;
  if (segments > limits.segments) return `more than ${limits.segments} folders in its paths`;
  if (!(unpacked <= limits.unpackedBytes))
    return `its binary files unpack to more than ${limits.unpackedBytes / 1024 ** 2} MB`;
  return null;
}

/** Only a line feed ends a line of a patch. */
const PATCH_HEADER = /(?<![^\n])(?:diff --git|copy (?:from|to)|literal|delta) [^\n]*/g;

/** The size that a packed delta makes of its base; `NaN` where it is none. */
function deltaResult(text: string, from: number, declared: number): number {
  const end = text.indexOf("\n\n", from);
  const packed = unbase85(text.slice(from, end === -1 ? undefined : end).split("\n"));
  try {
    const delta = inflateSync(packed, { maxOutputLength: Math.max(declared, 1) });
    const base = readSize(delta, 0);
    return readSize(delta, base.next).value;
  } catch {
    return Number.NaN;
  }
}

function readSize(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let value = 0;
  let scale = 1;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next: i + 1 };
    scale *= 128;
  }
  return { value: Number.NaN, next: bytes.length };
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** Git's lines: a letter for the length (A–Z: 1–26, a–z: 27–52), then five digits for four bytes. */
function unbase85(lines: readonly string[]): Buffer {
  const parts = lines.map((line) => {
    const first = line.charCodeAt(0);
    const length = first >= 97 ? first - 97 + 27 : first - 65 + 1;
    const bytes = Buffer.alloc(Math.floor((line.length - 1) / 5) * 4);
    for (let at = 1, to = 0; to < bytes.length; at += 5, to += 4) {
      let value = 0;
      for (let i = at; i < at + 5; i++) value = value * 85 + Math.max(0, DIGITS.indexOf(line[i] ?? "0"));
      bytes.writeUInt32BE(value % 2 ** 32, to);
    }
    return bytes.subarray(0, length);
  });
  return Buffer.concat(parts);
}
