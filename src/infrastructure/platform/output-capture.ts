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
function startOfCharacter(bytes: Uint8Array): number {
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

export type CutNote = (cutBytes: number) => string;

const englishNote: CutNote = (cutBytes) => `\n[... ${cutBytes} bytes cut ...]\n`;

/** Keeps the first and the last half of `limitBytes` of a stream of any length, in constant memory. */
export function createOutputCapture(limitBytes: number, cutNote: CutNote = englishNote) {
  const headLimit = Math.ceil(limitBytes / 2);
  const tailLimit = Math.max(0, Math.floor(limitBytes) - headLimit);
  const head: Uint8Array[] = [];
  const tail = { ring: new Uint8Array(0), next: 0, filled: 0 };
  const seen = { head: 0, total: 0 };

  const addToTail = (bytes: Uint8Array) => {
    if (tailLimit === 0 || bytes.length === 0) return;
    if (tail.ring.length === 0) tail.ring = new Uint8Array(tailLimit);
    const kept = bytes.subarray(Math.max(0, bytes.length - tailLimit));
    const untilWrap = Math.min(kept.length, tailLimit - tail.next);
    tail.ring.set(kept.subarray(0, untilWrap), tail.next);
    tail.ring.set(kept.subarray(untilWrap), 0);
    tail.next = (tail.next + kept.length) % tailLimit;
    tail.filled = Math.min(tailLimit, tail.filled + kept.length);
  };

  const tailBytes = () => {
    if (tail.filled < tailLimit) return Buffer.from(tail.ring.subarray(0, tail.filled));
    return Buffer.concat([tail.ring.subarray(tail.next), tail.ring.subarray(0, tail.next)]);
  };

  return {
    add(bytes: Uint8Array): void {
      seen.total += bytes.length;
      const toHead = bytes.subarray(0, headLimit - seen.head);
      if (toHead.length > 0) head.push(toHead.slice());
      seen.head += toHead.length;
      addToTail(bytes.subarray(toHead.length));
    },

    /** For bytes that were cut before they arrived here: they count, between the bytes before and after. */
    skip(bytes: number): void {
      seen.total += bytes;
    },

    finish() {
      const first = Buffer.concat(head);
      const last = tailBytes();
      if (first.length + last.length === seen.total) {
        return { text: Buffer.concat([first, last]).toString(), cutBytes: 0 };
      }
      const start = first.subarray(0, cutAtCharacter(first));
      const end = last.subarray(startOfCharacter(last));
      const cutBytes = seen.total - start.length - end.length;
      return { text: start.toString() + cutNote(cutBytes) + end.toString(), cutBytes };
    },
  };
}
