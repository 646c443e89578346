/**
 * Cuts a stream of bytes into frames: a head of fixed size that tells the length of the payload, which is valid only during the
 * call. After a frame longer than `limitBytes` nothing more is read.
 */
export function createHeadReader(
  { headBytes, limitBytes, lengthOf }: FrameShape,
  onFrame: (head: Buffer, payload: Buffer) => void,
  onTooLong = () => {},
): (bytes: Uint8Array) => void {
  const state = { chunks: [] as Buffer[], held: 0, wanted: headBytes, broken: false };
  return (bytes) => {
    if (state.broken) return;
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (state.held + fresh.length < state.wanted) {
      // A copy: the runtime may use its buffer again.
      state.chunks.push(Buffer.from(fresh));
      state.held += fresh.length;
      return;
    }
    const all = state.chunks.length === 0 ? fresh : Buffer.concat([...state.chunks, fresh]);
    let at = 0;
    for (;;) {
      state.wanted = headBytes;
      if (all.length - at < headBytes) break;
      const head = all.subarray(at, at + headBytes);
      const length = lengthOf(head);
      if (length < 0 || length > limitBytes) {
        state.broken = true;
        state.chunks = [];
        onTooLong();
        return;
      }
      state.wanted = headBytes + length;
      if (all.length - at < state.wanted) break;
      onFrame(head, all.subarray(at + headBytes, at + state.wanted));
      at += state.wanted;
    }
    state.chunks = at === all.length ? [] : [Buffer.from(all.subarray(at))];
    state.held = all.length - at;
  };
}

interface FrameShape {
  readonly headBytes: number;
  readonly limitBytes: number;
  readonly lengthOf: (head: Buffer) => number;
}
