const LONGEST_CHARACTER = 4;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function lengthFromLead(byte: number): number {
  if (byte >= 0xf0 && byte <= 0xf4) return 4;
  if (byte >= 0xe0) return byte < 0xf0 ? 3 : 1;
  return byte >= 0xc2 ? 2 : 1;
}

/** How many bytes can be decoded now: all, or all but an unfinished character at the end. */
export function cutAtCharacter(bytes: Uint8Array): number {
  for (let back = 1; back < LONGEST_CHARACTER && back <= bytes.length; back++) {
    const at = bytes.length - back;
    const byte = bytes[at] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthFromLead(byte) > back ? at : bytes.length;
  }
  return bytes.length;
}

/** Where the first whole character starts, when the bytes before were cut away. */
export function startOfCharacter(bytes: Uint8Array): number {
  const limit = Math.min(LONGEST_CHARACTER - 1, bytes.length);
  for (let at = 0; at < limit; at++) if (!isContinuation(bytes[at])) return at;
  return limit;
}

/** Passes on whole characters only; what is unfinished waits for the next bytes, and leaves with `end`. */
export function createCharacterGate(pass: (bytes: Uint8Array) => void) {
  const waiting = { bytes: new Uint8Array(0) };
  return {
    add(bytes: Uint8Array): void {
      const joined = waiting.bytes.length === 0 ? bytes : Buffer.concat([waiting.bytes, bytes]);
      const cut = cutAtCharacter(joined);
      waiting.bytes = joined.slice(cut);
      if (cut > 0) pass(joined.subarray(0, cut));
    },
    end(): void {
      const rest = waiting.bytes;
      waiting.bytes = new Uint8Array(0);
      if (rest.length > 0) pass(rest);
    },
  };
}
