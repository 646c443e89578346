import { readSync, writeSync } from "node:fs";

/**
 * Messages between the program and the executor that stands in the view: a JSON head and raw bytes, each with its
 * length. One format for both channels.
 */
export interface Frame {
  readonly head: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

/** One request, one answer, in order; the caller waits. */
export type Call = (head: Readonly<Record<string, unknown>>, body?: Uint8Array) => Frame;

const PREFIX_BYTES = 8;
const EMPTY = new Uint8Array();

export function encodeFrame(head: Readonly<Record<string, unknown>>, body: Uint8Array = EMPTY): Uint8Array {
  const text = Buffer.from(JSON.stringify(head), "utf8");
  const out = Buffer.allocUnsafe(PREFIX_BYTES + text.length + body.length);
  out.writeUInt32LE(text.length, 0);
  out.writeUInt32LE(body.length, 4);
  out.set(text, PREFIX_BYTES);
  out.set(body, PREFIX_BYTES + text.length);
  return out;
}

/** Cuts a stream of bytes into frames. */
export function createFrameReader(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  let held: Uint8Array = EMPTY;
  return (bytes) => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    for (;;) {
      if (held.length < PREFIX_BYTES) return;
      const view = new DataView(held.buffer, held.byteOffset);
      const [headLength, bodyLength] = [view.getUint32(0, true), view.getUint32(4, true)];
      const end = PREFIX_BYTES + headLength + bodyLength;
      if (held.length < end) return;
      const head = JSON.parse(
        Buffer.from(held.subarray(PREFIX_BYTES, PREFIX_BYTES + headLength)).toString("utf8"),
      ) as Frame["head"];
      const body = held.slice(PREFIX_BYTES + headLength, end);
      held = held.subarray(end);
      onFrame({ head, body });
    }
  };
}

/** The other side is gone. */
export class ChannelClosed extends Error {
  readonly code = "EXECUTOR_ENDED";

  constructor() {
    super("the executor ended");
  }
}

export function writeFrame(descriptor: number, frame: Uint8Array): void {
  let at = 0;
  while (at < frame.length) {
    try {
      at += writeSync(descriptor, frame, at);
    } catch (error) {
      if ((error as { code?: string }).code === "EPIPE") throw new ChannelClosed();
      throw error;
    }
  }
}

/** Waits for the next frame of a blocking descriptor. */
export function readFrame(descriptor: number): Frame {
  const prefix = readExactly(descriptor, PREFIX_BYTES);
  const view = new DataView(prefix.buffer, prefix.byteOffset);
  const head = readExactly(descriptor, view.getUint32(0, true));
  const body = readExactly(descriptor, view.getUint32(4, true));
  return { head: JSON.parse(Buffer.from(head).toString("utf8")) as Frame["head"], body };
}

function readExactly(descriptor: number, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let at = 0;
  while (at < length) {
    const got = readSync(descriptor, out, at, length - at, null);
    if (got === 0) throw new ChannelClosed();
    at += got;
  }
  return out;
}
