/** Longer lines are passed on in pieces. */
const LONGEST_LINE = 8_000;

export interface HeldOutput {
  add(text: string): void;
  /** Passes on what is left. */
  end(): void;
}

/** Passes output on by whole lines, so that a secret that comes in two pieces is still found and masked. */
export function createLineOutput(pass: (text: string) => void): HeldOutput {
  return holdOutput(pass, (pending) => pending.lastIndexOf("\n") + 1);
}

/**
 * The same for words that a person reads as they come. Each line is masked as far as it has come, and only what no later
 * letter can change is passed on: a secret holds no blank, so its word waits until it has ended, and a key waits for its end.
 */
export function createWordOutput(mask: (text: string) => string, pass: (text: string) => void): HeldOutput {
  let line = "";
  let passed = "";
  const show = (until: number, isWhole: boolean) => {
    const masked = mask(line.slice(0, until));
    if (masked.startsWith(passed)) {
      if (masked.length > passed.length) pass(masked.slice(passed.length));
      passed = masked;
    } else if (isWhole) {
      // The shown text reads differently now that the line is complete; only the text after it is still to be
      // shown.
      const from = commonLength(masked, passed);
      pass(masked.slice(from));
      passed = masked;
    }
  };
  return {
    add(text) {
      line += text;
      for (;;) {
        const end = endOfPiece(line);
        if (end === 0) break;
        show(end, true);
        line = line.slice(end);
        passed = "";
      }
      if (line.includes("-----BEGIN ")) return;
      const word = line.length > LONGEST_LINE ? line.length : line.search(/[!-~]*$/);
      if (word > 0) show(word, false);
    },
    end() {
      if (line !== "") show(line.length, true);
      line = "";
      passed = "";
    },
  };
}

/** Just past the next line, or past the whole of a private key; 0 where it has not come yet. */
function endOfPiece(text: string): number {
  const end = text.indexOf("\n") + 1;
  const key = text.indexOf("-----BEGIN ");
  if (end === 0 || key < 0 || key >= end) return end;
  const close = text.indexOf("-----END ", key);
  const after = close < 0 ? 0 : text.indexOf("\n", close) + 1;
  return after === 0 && text.length > LONGEST_LINE ? text.length : after;
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function holdOutput(pass: (text: string) => void, boundary: (pending: string) => number): HeldOutput {
  let pending = "";
  return {
    add(text) {
      pending += text;
      const end = boundary(pending);
      const until = end > 0 ? end : pending.length > LONGEST_LINE ? pending.length : 0;
      if (until === 0) return;
      pass(pending.slice(0, until));
      pending = pending.slice(until);
    },
    end() {
      if (pending !== "") pass(pending);
      pending = "";
    },
  };
}
