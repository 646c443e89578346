/** git's binary delta: copy from the old content or insert new bytes. Null where it does not fit the old content. */
export function applyGitDelta(old: Uint8Array, delta: Uint8Array): Uint8Array | null {
  let at = 0;
  const readSize = (): number => {
    let size = 0;
    let scale = 1;
    for (; at < delta.length; scale *= 128) {
      const byte = delta[at++]!;
      size += (byte & 127) * scale;
      if ((byte & 128) === 0) return size;
    }
    return -1;
  };
  if (readSize() !== old.length) return null;
  const size = readSize();
  if (size < 0 || size > 0x7fffffff) return null;
  const out = new Uint8Array(size);
  let to = 0;
  while (at < delta.length) {
    const op = delta[at++]!;
    if (op === 0) return null;
    let from = 0;
    let length = op;
    if (op & 128) {
      for (let k = 0; k < 4; k++) if (op & (1 << k)) from += (delta[at++] ?? 0) * 2 ** (8 * k);
      length = 0;
      for (let k = 0; k < 3; k++) if (op & (16 << k)) length += (delta[at++] ?? 0) << (8 * k);
      if (length === 0) length = 0x10000;
    }
    const source = op & 128 ? old : delta;
    if ((op & 128) === 0) {
      from = at;
      at += length;
    }
    if (from + length > source.length || to + length > size) return null;
    out.set(source.subarray(from, from + length), to);
    to += length;
  }
  return to === size ? out : null;
}
