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

/** The same for words that a person reads as they come: by sentences, which a secret does not span either. */
export function createSentenceOutput(pass: (text: string) => void): HeldOutput {
  return holdOutput(pass, (pending) => {
    const end = /^.*(?:\n|[。！？]|[.!?](?=\s))/su.exec(pending);
    return end === null ? 0 : end[0].length;
  });
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
