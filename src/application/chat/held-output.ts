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
      pending += text;
      const end = pending.lastIndexOf("\n") + 1;
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

/** A word is masked together with the text before it on its line, at most this much, as long as the result stays the same. */
const MASKED_AGAIN = 400;
const KEPT_BEFORE = 200;
/** Text that is held back is masked again after it has grown by this share. */
const GROWN = 1 / 16;
/** Longer than any key. */
const LONGEST_HELD = 64 * 1024;

/** Words for a person as they come, masked line by line: a word or a key is held until it has ended, since a secret holds no blank. */
export function createWordOutput(mask: (text: string) => string, pass: (text: string) => void): HeldOutput {
  let line = "";
  let passed = "";
  /** How long the line was when it was masked last. */
  let looked = 0;
  const begin = (rest: string) => {
    line = rest;
    passed = "";
    looked = 0;
  };
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
  return {
    add(text) {
      line += text;
      for (let end = endOfPiece(line); end > 0; end = endOfPiece(line)) {
        show(end, true);
        begin(line.slice(end));
      }
      if (line.length > MASKED_AGAIN && line.length - looked < line.length * GROWN) return;
      looked = line.length;
      if (line.length > LONGEST_HELD) {
        show(line.length, true);
        return begin("");
      }
      if (line.includes("-----BEGIN ")) return;
      const word = line.length > LONGEST_LINE ? line.length : endOfWords(line, line.length);
      if (word > 0) show(word, false);
      if (line.length > MASKED_AGAIN) letGo();
    },
    end() {
      if (line !== "") show(line.length, true);
      begin("");
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
