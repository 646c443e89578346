import type { Logger } from "../ports/platform.ts";

/** Runs a step that a job can do without, such as a proof. If it throws or takes too long, the job continues with `otherwise`. */
export type Advise = <Advice>(step: string, otherwise: NoInfer<Awaited<Advice>>, run: () => Advice) => Advice;

/** Runs of tests, which some steps wait for, have limits of their own; this one is for a step that never ends. */
const LIMIT_MS = 20 * 60_000;

export function createAdvise(log?: Logger, limitMs = LIMIT_MS): Advise {
  return (step, otherwise, run) => {
    const goOn = (cause: unknown) => {
      log?.warn("advice", "A step that only advises failed; the job continues", "advice.failed", {
        step,
        error: String(cause),
      });
      return otherwise;
    };
    try {
      const advice = run();
      if (!(advice instanceof Promise)) return advice;
      return Promise.race([advice, timeLimit(limitMs)]).catch(goOn) as typeof advice;
    } catch (cause) {
      return goOn(cause) as ReturnType<typeof run>;
    }
  };
}

/** Rejects when the time is over; nothing waits for it to be over. */
function timeLimit(limitMs: number): Promise<never> {
  return new Promise((_, reject) => {
    AbortSignal.timeout(limitMs).addEventListener("abort", () =>
      reject(new Error(`not done after ${limitMs} ms`)),
    );
  });
}
