/** A message between PicoClaw and a program of its own inside; see `inside/frames.pl`. */
export interface Frame {
  /** One letter. */
  readonly type: string;
  readonly id: number;
  readonly payload: Buffer;
}

/** Length of the rest, type, id. */
const HEAD_BYTES = 9;

export function encodeFrame(type: string, id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  frame.writeUInt32BE(HEAD_BYTES - 4 + payload.length, 0);
  frame.write(type, 4, "latin1");
  frame.writeUInt32BE(id, 5);
  frame.set(payload, HEAD_BYTES);
  return frame;
}

/** A process inside may write in the program's place: a length is not trusted beyond what the program ever sends. */
export function createFrameReader(
  limitBytes: number,
  onFrame: (frame: Frame) => void,
  onBroken: () => void,
): (bytes: Uint8Array) => void {
  return createHeadReader(
    { headBytes: HEAD_BYTES, limitBytes, lengthOf: (head) => head.readUInt32BE(0) - (HEAD_BYTES - 4) },
    (head, payload) =>
      onFrame({ type: String.fromCharCode(head[4] ?? 0), id: head.readUInt32BE(5), payload }),
    onBroken,
  );
}

/** Texts and bytes, each after its length: the payload of a frame that has several. */
export function encodeList(items: readonly (string | Uint8Array)[]): Buffer {
  const parts = items.flatMap((item) => {
    const bytes = typeof item === "string" ? Buffer.from(item) : item;
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

/** Throws a `RangeError` for bytes that are no list. */
export function decodeList(bytes: Buffer): readonly Buffer[] {
  const items: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new RangeError("a list that breaks off");
    items.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return items;
}

/** The engine's framing of an exec without a terminal: stream number, three zeros, length. */
export function createStreamReader(
  onStream: (stream: "stdout" | "stderr", bytes: Buffer) => void,
): (bytes: Uint8Array) => void {
  return createHeadReader(
    { headBytes: 8, limitBytes: 2 ** 32, lengthOf: (head) => head.readUInt32BE(4) },
    (head, payload) => onStream(head[0] === 2 ? "stderr" : "stdout", payload),
    () => undefined,
  );
}

/**
 * Cuts a stream of bytes, which may arrive in any pieces, into frames: a head of fixed size that tells the length of
 * what follows. The payload is valid only during the call. A frame longer than `limitBytes` is not waited for:
 * `onTooLong` is called, and nothing more is read.
 */
function createHeadReader(
  { headBytes, limitBytes, lengthOf }: FrameShape,
  onFrame: (head: Buffer, payload: Buffer) => void,
  onTooLong: () => void,
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
