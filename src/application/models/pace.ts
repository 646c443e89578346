/**
 * The time of a local model's answer. In: when it should end, and the words as they arrive. Out: a signal that ends it. Invariant: a
 * model that is fast enough ends at its limit; a slower one has the time of a long answer at its measured speed, within `most`.
 */
import { estimateTokens } from "../../domain/models/model-facts.ts";

/** Tokens that a long answer has, and how long a model has to write before its speed is known. */
const LONG_ANSWER = 2_000;
const MEASURED_MS = 5_000;

const afterUnheld = (ms: number, then: () => void) => void setTimeout(then, ms).unref();

export function createPace(clock: () => number, ends: number, most: number, after = afterUnheld) {
  const ending = new AbortController();
  let [first, words] = [Number.POSITIVE_INFINITY, ""];
  const look = () => {
    const [now, writing] = [clock(), clock() - first];
    const needed = first + (LONG_ANSWER * writing) / Math.max(1, estimateTokens(words));
    // Before the first word, the limits of the connection end a server that says nothing.
    const end = Math.min(most, writing < MEASURED_MS ? now + MEASURED_MS : needed);
    if (end <= now) ending.abort();
    else after(Math.ceil(end - now), look);
  };
  after(Math.max(0, Math.ceil(ends - clock())), look);
  const onHeard = (text: string) => {
    first = Math.min(first, clock());
    words += text;
  };
  return { deadline: ending.signal, onHeard };
}
