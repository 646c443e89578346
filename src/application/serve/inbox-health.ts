/** One part that must work: its name, whether it does, and what helps when not. */
export interface HealthCheck {
  readonly name: string;
  /** Without it nothing can be answered; otherwise it is only reported. */
  readonly required: boolean;
  check(signal: AbortSignal): Promise<Omit<HealthLine, "name" | "required">>;
}

export interface HealthLine {
  readonly name: string;
  readonly required: boolean;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy?: string;
  /** It does not work because nobody set it up, and nobody needs it. */
  readonly off?: boolean;
}

export interface HealthReport {
  /** Whether every required part works. */
  readonly ready: boolean;
  readonly checks: readonly HealthLine[];
}

/** Asks all parts at once; one that does not answer in time is named as such, and holds nobody up. */
export async function checkHealth(
  checks: readonly HealthCheck[],
  limitMs: number,
  after: (ms: number, callback: () => void) => () => void,
): Promise<HealthReport> {
  const lines = await Promise.all(
    checks.map(async ({ name, required, check }): Promise<HealthLine> => {
      const limit = new AbortController();
      let cancel = () => {};
      const late = new Promise<{ ok: boolean; detail: string }>((resolve) => {
        cancel = after(limitMs, () => {
          limit.abort();
          resolve({ ok: false, detail: `no answer within ${limitMs} ms` });
        });
      });
      try {
        return { name, required, ...(await Promise.race([check(limit.signal), late])) };
      } catch (error) {
        return { name, required, ok: false, detail: error instanceof Error ? error.message : String(error) };
      } finally {
        cancel();
      }
    }),
  );
  return { ready: lines.every(({ required, ok }) => ok || !required), checks: lines };
}

/** The same answer for a short while, and one question at a time. */
export function cacheAnswer<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  const last: { at: number; answer?: Promise<T> } = { at: 0 };
  return () => {
    if (last.answer === undefined || Date.now() - last.at > ms) {
      last.at = Date.now();
      last.answer = ask();
    }
    return last.answer;
  };
}
