import type { ModelEvent, ModelRequest } from "../../application/ports/model.ts";
import { LONGEST_WAIT_MS } from "./failures.ts";
import type { ModelParts } from "./settings.ts";
import type { Tried } from "./try-once.ts";

const FIRST_WAIT_MS = 500;
/** A server of one's own that refuses is being started again, or is not there at all: somebody is waiting to be told. */
const FIRST_WAIT_AT_HOME_MS = 100;

/**
 * Tries until there is an answer, a failure that stays, or no try left. A part of the request that the server refuses is
 * left out from then on, which costs no try. Between tries it waits as long as the server asks, else twice as long each
 * time; spread, so that many callers do not come back at once.
 */
export async function* generateWithRetries(
  attempt: (request: ModelRequest) => AsyncGenerator<ModelEvent, Tried>,
  { limits, random, pause }: Pick<ModelParts, "limits" | "random" | "pause">,
  request: ModelRequest,
  { local = false, without = new Set() }: { readonly local?: boolean; readonly without?: Set<string> } = {},
): AsyncGenerator<ModelEvent, void> {
  for (let tries = 1; ; ) {
    const tried = yield* attempt(request);
    if (tried.kind === "answer") return yield { type: "finished", answer: tried.answer };
    if (tried.without !== undefined && !without.has(tried.without)) {
      without.add(tried.without);
      continue;
    }
    const { failure } = tried;
    const atHome = local && failure.code === "unreachable";
    const firstMs = atHome ? FIRST_WAIT_AT_HOME_MS : FIRST_WAIT_MS;
    const waitMs = failure.retryAfterMs ?? Math.round(firstMs * 2 ** (tries - 1) * (0.5 + random() / 2));
    if (!tried.again || tries > limits.retries || waitMs > LONGEST_WAIT_MS)
      return yield { type: "failed", failure };
    yield { type: "retrying", attempt: tries, waitMs, failure };
    await pause(waitMs, request.signal);
    tries += 1;
  }
}
