import { createRequestIdScanner, type RequestIdScanner } from "./read-message.ts";

/** One line of the protocol: its bytes, or that it was longer than the limit. */
export type Frame =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "too-long"; readonly id: string | number | null };

const NEWLINE = 0x0a;

/** Cuts a stream into lines. A line past the limit is not kept: it is read to its end for its id alone. */
export function createFrameReader(limitBytes: number): { push(chunk: Uint8Array): Frame[] } {
  let parts: Uint8Array[] = [];
  let size = 0;
  let overlong: RequestIdScanner | null = null;

  function take(piece: Uint8Array): void {
    size += piece.length;
    if (overlong === null && size > limitBytes) {
      overlong = createRequestIdScanner();
      for (const part of parts) overlong.push(part);
      parts = [];
    }
    if (overlong !== null) overlong.push(piece);
    else if (piece.length > 0) parts.push(piece);
  }

  function finish(): Frame {
    const frame: Frame =
      overlong !== null
        ? { kind: "too-long", id: overlong.id() }
        : { kind: "line", bytes: parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts) };
    parts = [];
    size = 0;
    overlong = null;
    return frame;
  }

  return {
    push(chunk) {
      const frames: Frame[] = [];
      let from = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
        take(chunk.subarray(from, end));
        frames.push(finish());
        from = end + 1;
      }
      take(chunk.subarray(from));
      return frames;
    },
  };
}
