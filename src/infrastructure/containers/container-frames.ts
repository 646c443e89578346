import { createHeadReader } from "../platform/frames.ts";

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
  );
}
