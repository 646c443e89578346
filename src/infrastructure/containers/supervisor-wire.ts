import { createFrameReader } from "./container-frames.ts";

/** What the supervisor says; see `inside/supervisor.pl`. */
export interface SupervisorFrame {
  readonly type: string;
  readonly id: number;
  readonly payload: Buffer;
}

/** Whatever runs inside may have taken the supervisor over: a length is not trusted beyond what it ever sends. */
const LONGEST_FRAME = 1024 ** 2;

export function createSupervisorReader(onFrame: (frame: SupervisorFrame) => void, onBroken: () => void) {
  return createFrameReader(
    { headBytes: 9, limitBytes: LONGEST_FRAME, lengthOf: (head) => head.readUInt32BE(0) - 5 },
    (head, payload) =>
      onFrame({ type: String.fromCharCode(head[4] ?? 0), id: head.readUInt32BE(5), payload }),
    onBroken,
  );
}

export function encodeFrame(type: "S" | "K" | "P" | "Q", id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(9 + payload.length);
  frame.writeUInt32BE(5 + payload.length, 0);
  frame.write(type, 4, "latin1");
  frame.writeUInt32BE(id, 5);
  frame.set(payload, 9);
  return frame;
}

/** Texts and bytes, each after its length. */
export function encodeList(items: readonly (string | Uint8Array)[]): Buffer {
  const parts = items.flatMap((item) => {
    const bytes = typeof item === "string" ? Buffer.from(item) : item;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

export function decodeList(bytes: Buffer): readonly string[] {
  const items: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    items.push(bytes.toString("utf8", at + 4, end));
    at = end;
  }
  return items;
}

/** `kind` as in the program: 0 ended, 1 no such folder, 2 outside, 3 no such program, 4 no more processes, 5 lost. */
export interface EndedFrame {
  readonly kind: number;
  readonly status: number;
  readonly errno: number;
  readonly oomKills: number;
  readonly refusedForks: number;
  readonly left: readonly string[];
}

export function decodeEnded(payload: Buffer): EndedFrame {
  const field = (index: number) => payload.readUInt32BE(index * 4);
  return {
    kind: field(0),
    status: field(1),
    errno: field(2),
    oomKills: field(3) | 0,
    refusedForks: field(4) | 0,
    left: decodeList(payload.subarray(20)),
  };
}
