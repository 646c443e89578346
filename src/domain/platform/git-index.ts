/** The repository of or above a workspace that is not the workspace's own, by its root, and why it is not. */
export interface ForeignRepository {
  readonly topLevel: string;
  /**
   * `home`: its root is a home or above one. `owner`: it fails git's ownership rule. `untracked`: it tracks nothing near.
   * `elsewhere`: the `.git` there names a git folder that does not say that it is of this root.
   */
  readonly why: "home" | "owner" | "untracked" | "elsewhere";
}

/** One entry of a git index: what git believes it has put at a path. */
export interface IndexEntry {
  readonly path: string;
  /** Object name in hexadecimal. */
  readonly object: string;
}

/** The entries of an index of version 2 or 3 with SHA-1 names; null for anything else. */
export function readGitIndex(bytes: Uint8Array): IndexEntry[] | null {
  const entries: IndexEntry[] = [];
  const text = new TextDecoder();
  const isWhole = walkGitIndex(bytes, (start, name, end) =>
    entries.push({
      get path() {
        return text.decode(bytes.subarray(name, end));
      },
      get object() {
        return Buffer.from(bytes.subarray(start + 40, start + 60)).toString("hex");
      },
    }),
  );
  return isWhole ? entries : null;
}

/** The entries of an index (mode, object, flags, path), without the stat cache; null if `readGitIndex` cannot read it. */
export function listGitIndex(bytes: Uint8Array): Uint8Array | null {
  // Each part moves to the front of one copy: a view of every part would take longer than their hash.
  const listed = new Uint8Array(bytes);
  let length = 0;
  const copy = (from: number, to: number) => {
    listed.copyWithin(length, from, to);
    length += to - from;
  };
  const isWhole = walkGitIndex(bytes, (start, _, end) => {
    copy(start + 24, start + 28);
    copy(start + 40, end + 1);
  });
  return isWhole ? listed.subarray(0, length) : null;
}

/** Calls `use` with the offsets of each entry, its name and the end of its name; false for anything but a whole index. */
function walkGitIndex(bytes: Uint8Array, use: (start: number, name: number, end: number) => void): boolean {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 32 || data.getUint32(0) !== 0x44495243) return false;
  const version = data.getUint32(4);
  if (version !== 2 && version !== 3) return false;
  const count = data.getUint32(8);
  let at = 12;
  for (let i = 0; i < count; i++) {
    if (at + 62 > bytes.length) return false;
    const extended = version === 3 && (data.getUint16(at + 60) & 0x4000) !== 0;
    const name = at + 62 + (extended ? 2 : 0);
    const end = bytes.indexOf(0, name);
    if (end < 0) return false;
    use(at, name, end);
    at += Math.ceil((end - at + 1) / 8) * 8;
  }
  return true;
}

/**
 * Whether an index of SHA-1 names lists a file below a prefix (empty, or ending in `/`), or with `whole` a file of that very path.
 * Null: only git can tell, because it is of another version, or a part of the list is in another file or in trees (a split or sparse
 * index).
 */
export function findInGitIndex(
  bytes: Uint8Array,
  prefix: Uint8Array,
  { whole = false } = {},
): boolean | null {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 32 || data.getUint32(0) !== 0x44495243) return null;
  const version = data.getUint32(4);
  if (version < 2 || version > 4) return null;
  let at = 12;
  /** Of the name before, whose beginning a name of version 4 repeats: its length, and how much of the prefix it begins with. */
  let [length, equal] = [0, 0];
  for (let left = data.getUint32(8); left > 0; left--) {
    if (at + 62 > bytes.length) return null;
    const start = at;
    const flags = data.getUint16(at + 60);
    at += version > 2 && (flags & 0x4000) !== 0 ? 64 : 62;
    let kept = 0;
    if (version === 4) {
      let byte = bytes[at++] ?? 0;
      let dropped = byte & 0x7f;
      while ((byte & 0x80) !== 0) {
        byte = bytes[at++] ?? 0;
        dropped = ((dropped + 1) << 7) | (byte & 0x7f);
      }
      kept = length - dropped;
    }
    // A length that the flags have no room for is found by the name's end.
    const noted = flags & 0xfff;
    const end = noted < 0xfff ? at + noted - kept : bytes.indexOf(0, at);
    if (kept < 0 || end < at || bytes[end] !== 0) return null;
    length = kept + end - at;
    equal = Math.min(equal, kept);
    if (equal === kept)
      while (equal < prefix.length && equal < length && bytes[at + equal - kept] === prefix[equal]) equal++;
    if (equal === prefix.length && (whole ? length === equal : length > equal)) return true;
    at = version === 4 ? end + 1 : start + Math.ceil((end - start + 1) / 8) * 8;
  }
  for (const end = bytes.length - 20; at + 8 <= end; at += 8 + data.getUint32(at + 4))
    if (["link", "sdir"].includes(String.fromCharCode(...bytes.subarray(at, at + 4)))) return null;
  return false;
}
