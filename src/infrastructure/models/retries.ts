import type { ModelEvent, ModelFailure, ModelRequest } from "../../application/ports/models.ts";
import { LONGEST_WAIT_MS } from "./failures.ts";
import type { ModelDeps } from "./model-settings.ts";
import type { TryOutcome } from "./generate-answer.ts";

const FIRST_WAIT_MS = 500;
/** A cloud that is asked too often or by too many takes longer to recover than one that stumbled. */
const FIRST_WAIT_OF_CROWD_MS = 2000;
const LONGEST_OWN_WAIT_MS = 30_000;
/** A server of one's own does not get better by waiting. */
const MOST_AT_HOME = 3;
/** Somebody is waiting to be told that it is not there. */
const FIRST_WAIT_AT_HOME_MS = 100;

interface RetriedServer {
  readonly local?: boolean;
  readonly without?: Set<string>;
  /** Whether it has ever answered. */
  readonly answered?: () => boolean;
}

/**
 * Tries until there is an answer, a failure that stays, or no try left. A part of the request that the server refuses is
 * left out from then on, which costs no try. Between tries it waits as long as the server asks, else twice as long each
 * time; spread, so that many callers do not come back at once.
 */
export async function* generateWithRetries(
  attempt: (request: ModelRequest) => AsyncGenerator<ModelEvent, TryOutcome>,
  { limits, random, pause }: Pick<ModelDeps, "limits" | "random" | "pause">,
  request: ModelRequest,
  { local = false, without = new Set(), answered = () => false }: RetriedServer = {},
): AsyncGenerator<ModelEvent, void> {
  for (let tries = 1; ; ) {
    const tried = yield* attempt(request);
    if (tried.kind === "answer") return yield { type: "finished", answer: tried.answer };
    if (tried.without !== undefined && !without.has(tried.without)) {
      without.add(tried.without);
      continue;
    }
    const { failure } = tried;
    const ownMs = Math.min(LONGEST_OWN_WAIT_MS, firstWait(failure, local) * 2 ** (tries - 1));
    const most = local ? Math.min(mostAtHome(failure, answered()), limits.retries) : limits.retries;
    const waitMs = failure.retryAfterMs ?? Math.round(ownMs * (0.5 + random() / 2));
    if (!tried.again || tries > most || waitMs > LONGEST_WAIT_MS) return yield { type: "failed", failure };
    yield { type: "retrying", attempt: tries, waitMs, failure };
    await pause(waitMs, request.signal);
    tries += 1;
  }
}

function firstWait({ code, status }: ModelFailure, local: boolean): number {
  if (local) return code === "unreachable" ? FIRST_WAIT_AT_HOME_MS : FIRST_WAIT_MS;
  return code === "rate-limited" || status === 503 || status === 529 ? FIRST_WAIT_OF_CROWD_MS : FIRST_WAIT_MS;
}

/** A server of one's own that refuses the connection is being started again where it has answered before, else not there at all. */
function mostAtHome({ cause }: ModelFailure, answered: boolean): number {
  const isRefused = cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
  if (!isRefused) return MOST_AT_HOME;
  return answered ? 1 : 0;
}
