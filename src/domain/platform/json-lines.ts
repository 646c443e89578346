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

/** Finds the `id` of a message that cannot be parsed, so that its sender learns which request failed. Stores only its place in the JSON. */
export type RequestIdScanner = ReturnType<typeof createRequestIdScanner>;

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
/** No real id or key is longer. */
const LONGEST = 256;

export function createRequestIdScanner() {
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** The top-level text since the last comma: a key, a colon, a short value. */
  let text: number[] = [];
  let isId = false;
  let found: string | number | null = null;

  function keep(byte: number): void {
    if (depth === 1 && text.length <= LONGEST) text.push(byte);
  }

  function endMember(): void {
    if (isId) found = idOf(text);
    isId = false;
    text = [];
  }

  function structural(byte: number): void {
    if (OPENING.has(byte)) {
      depth += 1;
      return;
    }
    if (CLOSING.has(byte)) {
      if (depth === 1) endMember();
      depth -= 1;
      return;
    }
    if (depth !== 1) return;
    if (byte === COLON) {
      isId = Buffer.from(text).toString().trim() === '"id"';
      text = [];
    } else if (byte === COMMA) endMember();
    else keep(byte);
  }

  return {
    push(bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length; at += 1) {
        const byte = bytes[at] as number;
        if (!inString) {
          if (byte === QUOTE) {
            inString = true;
            keep(byte);
          } else structural(byte);
          continue;
        }
        keep(byte);
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      }
    },
    /** Null when there is none, or the text is not a JSON object so far. */
    id: (): string | number | null => found,
  };
}

function idOf(text: readonly number[]): string | number | null {
  if (text.length > LONGEST) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text).toString());
    return typeof value === "string" || (typeof value === "number" && Number.isInteger(value)) ? value : null;
  } catch {
    return null;
  }
}
