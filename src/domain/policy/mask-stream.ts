import type { SecretSpan } from "./mask-spans.ts";

export interface MaskStream {
  /** Takes the next piece, returns what is safe to show now (possibly ""). */
  write(piece: string): string;
  /** Returns the rest. The stream can then be used anew. */
  end(): string;
}

/** A line longer than this is cut; what is held back never exceeds it by much more than one piece. */
const LONGEST_HELD = 64 * 1024;
/** Past this a text made of nothing but overlapping secrets is cut through one of them. */
const MOST_HELD = 4 * LONGEST_HELD;
/** Longer than the name of any secret and what stands between it and its value. */
const REACH = 4 * 1024;

/**
 * Shows whole lines: every rule but private keys and known secrets of several lines stays within one, so a cut at
 * a line end finds what masking the whole text would. A line without end is cut before the last `REACH`
 * characters, never inside a secret or between a secret and its name; a secret longer than all that is held loses
 * its middle, which changes nothing once it is masked.
 */
export function createMaskStream(parts: {
  readonly find: (text: string) => readonly SecretSpan[];
  readonly replace: (text: string, spans: readonly SecretSpan[]) => string;
  readonly longest: number;
  readonly longestMultiline: number;
}): MaskStream {
  const reach = Math.max(REACH, parts.longest);
  let held = "";

  function show(cut: number, spans: readonly SecretSpan[]): string {
    const shown = held.slice(0, cut);
    held = held.slice(cut);
    const within = spans.filter((span) => span.start < cut);
    return parts.replace(
      shown,
      within.map((span) => (span.end <= cut ? span : { ...span, end: cut })),
    );
  }

  return {
    write(piece) {
      held += piece;
      const overlong = held.length > LONGEST_HELD + reach;
      if (!overlong && !/[\n\r]/.test(parts.longestMultiline > 0 ? held : piece)) return "";
      const spans = parts.find(held);
      const lineEnd = lastLineEnd(held, held.length - parts.longestMultiline);
      const wanted = lineEnd === 0 && overlong ? held.length - reach : lineEnd;
      const safe = safeCut(wanted, spans, held);
      const cut = overlong ? safe : lineStart(held, safe);
      if (cut > 0) return show(cut, spans);
      if (overlong) held = withoutMiddle(held, spans, reach);
      return held.length > MOST_HELD ? show(held.length - reach, spans) : "";
    },
    end() {
      return show(held.length, parts.find(held));
    },
  };
}

/** Just past the last line end before `limit`; 0 when there is none. A `\r` at the very end may belong to a `\n`. */
function lastLineEnd(text: string, limit: number): number {
  if (limit <= 0) return 0;
  const newline = text.lastIndexOf("\n", limit - 1);
  const carriage = text.lastIndexOf("\r", Math.min(limit, text.length - 1) - 1);
  return Math.max(newline, carriage) + 1;
}

/** Rules look at what stands before, so a line is shown whole or not at all. */
function lineStart(text: string, at: number): number {
  return at === 0 || /[\n\r]/.test(text.charAt(at - 1)) ? at : lastLineEnd(text, at);
}

/** The last place at or before `cut` that divides neither a secret, nor one from its name, nor an open key block. */
function safeCut(cut: number, spans: readonly SecretSpan[], text: string): number {
  let safe = cut;
  const open = text.lastIndexOf("-----BEGIN ", safe);
  if (open !== -1 && text.length - open < LONGEST_HELD && isOpenKey(text.slice(open, safe))) safe = open;
  for (let i = spans.length - 1; i >= 0; i -= 1) {
    const span = spans[i];
    if (span !== undefined && span.from < safe && (span.end > safe || span.end === cut)) safe = span.from;
  }
  return safe;
}

function isOpenKey(block: string): boolean {
  return /^-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|$)/.test(block) && !block.includes("-----END ");
}

function withoutMiddle(text: string, spans: readonly SecretSpan[], reach: number): string {
  const span = spans.find((one) => one.end - one.start > 2 * reach);
  if (span === undefined) return text;
  return text.slice(0, span.start + reach) + text.slice(span.end - reach);
}
