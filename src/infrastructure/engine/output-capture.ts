import { cutAtCharacter, startOfCharacter } from "./utf8-boundary.ts";

export interface CapturedText {
  readonly text: string;
  readonly cutBytes: number;
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

    /** For bytes that were cut before they came here: they count, between what was added and what follows. */
    skip(bytes: number): void {
      seen.total += bytes;
    },

    finish(): CapturedText {
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
