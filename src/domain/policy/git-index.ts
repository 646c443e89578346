/** One entry of a git index: what git believes it has put at a path. */
export interface IndexEntry {
  readonly path: string;
  /** Object name in hexadecimal. */
  readonly object: string;
  /** The bytes that say what is listed (mode, object, flags, path), without the stat cache. */
  readonly listed: readonly [Uint8Array, Uint8Array];
}

/** The entries of an index of version 2 or 3 with SHA-1 names; null for anything else. */
export function readGitIndex(bytes: Uint8Array): IndexEntry[] | null {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 32 || data.getUint32(0) !== 0x44495243) return null;
  const version = data.getUint32(4);
  if (version !== 2 && version !== 3) return null;
  const count = data.getUint32(8);
  const entries: IndexEntry[] = [];
  const text = new TextDecoder();
  const entry = (start: number, name: number, end: number): IndexEntry => ({
    get path() {
      return text.decode(bytes.subarray(name, end));
    },
    get object() {
      return toHex(bytes.subarray(start + 40, start + 60));
    },
    listed: [bytes.subarray(start + 24, start + 28), bytes.subarray(start + 40, end + 1)],
  });
  let at = 12;
  for (let i = 0; i < count; i++) {
    if (at + 62 > bytes.length) return null;
    const extended = version === 3 && (data.getUint16(at + 60) & 0x4000) !== 0;
    const nameAt = at + 62 + (extended ? 2 : 0);
    const end = bytes.indexOf(0, nameAt);
    if (end < 0) return null;
    entries.push(entry(at, nameAt, end));
    at += Math.ceil((end - at + 1) / 8) * 8;
  }
  return entries;
}

function toHex(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += byte.toString(16).padStart(2, "0");
  return out;
}
