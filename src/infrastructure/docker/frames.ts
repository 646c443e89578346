/**
 * Cuts a stream of bytes, in whatever pieces it comes, into frames: a head of fixed size that tells the length of
 * what follows. The payload is valid only during the call.
 */
export function createFrameReader(
  headBytes: number,
  lengthOf: (head: Buffer) => number,
  onFrame: (head: Buffer, payload: Buffer) => void,
): (bytes: Uint8Array) => void {
  const state: { rest: Buffer } = { rest: Buffer.alloc(0) };
  return (bytes) => {
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const all = state.rest.length === 0 ? fresh : Buffer.concat([state.rest, fresh]);
    let at = 0;
    while (all.length - at >= headBytes) {
      const head = all.subarray(at, at + headBytes);
      const end = at + headBytes + lengthOf(head);
      if (all.length < end) break;
      onFrame(head, all.subarray(at + headBytes, end));
      at = end;
    }
    // A copy: the runtime may use its buffer again.
    state.rest = at === all.length ? Buffer.alloc(0) : Buffer.from(all.subarray(at));
  };
}

/** The engine's framing of an exec without a terminal: stream number, three zeros, length. */
export function createStreamReader(
  onStream: (stream: "stdout" | "stderr", bytes: Buffer) => void,
): (bytes: Uint8Array) => void {
  return createFrameReader(
    8,
    (head) => head.readUInt32BE(4),
    (head, payload) => onStream(head[0] === 2 ? "stderr" : "stdout", payload),
  );
}
