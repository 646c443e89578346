/** Longer lines are passed on in pieces. */
const LONGEST_LINE = 8_000;

export interface HeldOutput {
  add(text: string): void;
  end(): void;
}

/** Passes output on by whole lines, so that a secret that arrives in two pieces is found and masked. */
export function createLineOutput(pass: (text: string) => void): HeldOutput {
  let pending = "";
  return {
    add(text) {
      const end = text.lastIndexOf("\n") + 1;
      const until = end > 0 ? end : pending.length + text.length > LONGEST_LINE ? text.length : 0;
      const [rest, whole] = [text.slice(until), pending + text.slice(0, until)];
      pending = until > 0 ? rest : pending + text;
      if (until > 0) pass(whole);
    },
    end() {
      if (pending !== "") pass(pending);
      pending = "";
    },
  };
}

/** A word is masked together with the text before it on its line, at most this much, as long as the result stays the same. */
const MASKED_AGAIN = 400;
const KEPT_BEFORE = 200;
/** Text that is held back is masked again after it has grown by this share. */
const GROWN = 1 / 16;
/** Longer than any key. */
const LONGEST_HELD = 64 * 1024;

/**
 * Words for a person as they come, masked line by line: a word or a key is held until it has ended, since a secret holds no blank.
 * Each character is looked at a bounded number of times, whether a text arrives at once or letter by letter.
 */
export function createWordOutput(mask: (text: string) => string, pass: (text: string) => void): HeldOutput {
  let line = "";
  let passed = "";
  /** How long the line was when it was masked last. */
  let looked = 0;
  const show = (text: string, isWhole: boolean) => {
    const masked = mask(text);
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
  const showPieces = () => {
    const endOf = createPieceReader(line);
    let from = 0;
    for (let end = endOf(0); end > 0; end = endOf(from)) {
      // Whole lines are masked together, as far as a window reaches.
      for (let next = endOf(end); next > 0 && next - from <= LONGEST_LINE; next = endOf(end)) end = next;
      show(line.slice(from, end), true);
      [from, passed, looked] = [end, "", 0];
    }
    line = line.slice(from);
  };
  const letGo = () => {
    const cut = endOfWords(line, line.length - KEPT_BEFORE);
    const rest = line.slice(cut);
    // The first word of the rest has ended, too: it may be the secret that the text before it names.
    if (cut === 0 || !/[^!-~]/.test(rest.trimStart())) return;
    const head = mask(line.slice(0, cut));
    if (!passed.startsWith(head) || head + mask(rest) !== mask(line)) return;
    line = rest;
    passed = passed.slice(head.length);
    looked = rest.length;
  };
  const isSoon = () => line.length > MASKED_AGAIN && line.length - looked < line.length * GROWN;
  return {
    add(text) {
      line += text;
      if (text.includes("\n")) showPieces();
      if (isSoon()) return;
      looked = line.length;
      if (line.length > LONGEST_HELD) {
        show(line, true);
        [line, passed, looked] = ["", "", 0];
      }
      if (line.includes("-----BEGIN ")) return showPieces();
      const word = line.length > LONGEST_LINE ? line.length : endOfWords(line, line.length);
      if (word > 0) show(line.slice(0, word), false);
      if (line.length > MASKED_AGAIN) letGo();
    },
    end() {
      if (line !== "") show(line, true);
      [line, passed, looked] = ["", "", 0];
    },
  };
}

/** Just past the last character before `until` that no secret holds. */
function endOfWords(text: string, until: number): number {
  let end = until;
  const isWord = (code: number) => code > 0x20 && code < 0x7f;
  while (end > 0 && isWord(text.charCodeAt(end - 1))) end -= 1;
  return end;
}

/** Says, for places that only go forward, what is just past the next line or the whole of a private key; 0 where it has not come yet. */
function createPieceReader(text: string): (from: number) => number {
  let key = -1;
  return (from) => {
    const end = text.indexOf("\n", from) + 1;
    if (key < from) key = text.indexOf("-----BEGIN ", from);
    if (key < 0) key = text.length;
    const isLong = text.length - from > LONGEST_LINE;
    if (end === 0 || key >= end) return end;
    const close = text.indexOf("-----END ", key);
    const after = close < 0 ? 0 : text.indexOf("\n", close) + 1;
    return after === 0 && isLong ? text.length : after;
  };
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}
