/** Longer lines are passed on in pieces. */
const LONGEST_LINE = 8_000;

/** Passes output on by whole lines, so that a secret that comes in two pieces is still found and masked. */
export function createLineOutput(pass: (text: string) => void) {
  let pending = "";
  return {
    add(text: string): void {
      pending += text;
      const end = pending.lastIndexOf("\n") + 1;
      const until = end > 0 ? end : pending.length > LONGEST_LINE ? pending.length : 0;
      if (until === 0) return;
      pass(pending.slice(0, until));
      pending = pending.slice(until);
    },
    end(): void {
      if (pending !== "") pass(pending);
      pending = "";
    },
  };
}
