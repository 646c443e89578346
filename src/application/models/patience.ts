import type { ModelFailure } from "../ports/models.ts";
import type { Patience } from "./complete.ts";

export interface PatienceDeps {
  /** Since the first of the failures in a row. */
  readonly limitMs: number;
  readonly clock: () => number;
  readonly pause: Patience["pause"];
  readonly onWait?: (failure: ModelFailure, waitMs: number) => void;
}

const FIRST_WAIT_MS = 5000;
const LONGEST_WAIT_MS = 60_000;
/** The server cannot now, and can later. */
const WEATHER: ReadonlySet<ModelFailure["code"]> = new Set(["server-error", "rate-limited", "timeout"]);
/** The answer was spoilt on its way; the same request usually goes well. */
const SPOILT: ReadonlySet<ModelFailure["code"]> = new Set(["cut-off", "malformed", "empty"]);
const MOST_SPOILT = 3;

export function createPatience({ limitMs, clock, pause, onWait }: PatienceDeps): Patience {
  let since: number | null = null;
  let waits = 0;
  let spoilt = 0;
  /** A server that never answered is a wrong address rather than bad weather. */
  let reached = false;
  const wait = (failure: ModelFailure, ms: number) => {
    onWait?.(failure, ms);
    return ms;
  };
  return {
    pause,
    waitFor(completion) {
      if (completion.kind !== "failed" && completion.kind !== "empty") {
        if (completion.kind !== "aborted") reached = true;
        since = null;
        waits = 0;
        spoilt = 0;
        return null;
      }
      const { failure } = completion;
      if (!failure.retryable) return null;
      if (SPOILT.has(failure.code)) {
        spoilt += 1;
        return spoilt > MOST_SPOILT ? null : wait(failure, 0);
      }
      if (!WEATHER.has(failure.code) && !(failure.code === "unreachable" && reached)) return null;
      since ??= clock();
      const ownMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** waits);
      const waitMs = Math.max(ownMs, failure.retryAfterMs ?? 0);
      if (clock() - since + waitMs > limitMs) return null;
      waits += 1;
      return wait(failure, waitMs);
    },
  };
}
