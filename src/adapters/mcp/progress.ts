/** Tells a client how far a long call is; returns how to stop. */
export interface Progress {
  readonly onOutput: (text: string) => void;
  readonly stop: () => void;
}

export interface ProgressDeps {
  /** Resolves when the client can take the next one. */
  readonly send: (progress: { readonly progress: number; readonly message?: string }) => Promise<void>;
  readonly mask: (text: string) => string;
  readonly now: () => number;
}

const AT_MOST_EVERY_MS = 100;
/** A silent command gives a sign of life too, so that a client's time limit starts anew. */
const AT_LEAST_EVERY_MS = 5000;
const TAIL_CHARS = 8192;
const LINE_CHARS = 200;

/**
 * The progress is the seconds since the begin, its message the last whole line printed. One notification is under
 * way at a time: a client that does not read gets fewer of them, not a queue.
 */
export function startProgress({ send, mask, now }: ProgressDeps): Progress {
  const begun = now();
  let tail = "";
  let sentAt = begun - AT_MOST_EVERY_MS;
  let busy = false;
  let stopped = false;
  let timer = setTimeout(tell, AT_LEAST_EVERY_MS);

  function tell(): void {
    if (stopped || busy) return;
    busy = true;
    sentAt = now();
    const message = lastLine(tail, mask);
    const seconds = Math.max(1, Math.round(sentAt - begun)) / 1000;
    void send({ progress: seconds, ...(message !== "" && { message }) })
      .catch(() => {})
      .finally(() => {
        busy = false;
        wait(AT_LEAST_EVERY_MS);
      });
  }

  function wait(ms: number): void {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(tell, ms);
  }

  return {
    onOutput(text) {
      tail = (tail + text).slice(-TAIL_CHARS);
      if (!busy && text.includes("\n")) wait(Math.max(0, sentAt + AT_MOST_EVERY_MS - now()));
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** A line that is still being printed may end in half a secret, so it is left out. */
function lastLine(tail: string, mask: (text: string) => string): string {
  const whole = tail.slice(0, tail.lastIndexOf("\n") + 1);
  return (
    mask(whole)
      .trimEnd()
      .split(/[\r\n]/)
      .at(-1)
      ?.slice(0, LINE_CHARS)
      .toWellFormed() ?? ""
  );
}
