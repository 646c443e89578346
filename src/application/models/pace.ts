/**
 * The time of a local model's answer. In: when it should end, the words as they arrive, and how fast it was before. Out: a signal that
 * ends it, how long it may read, and how fast it was this time. Invariant: a model that is fast enough ends at its limit; a slower one
 * has the time of a long answer at its measured speed, within `most`.
 */
import { estimateTokens } from "../../domain/models/model-facts.ts";
import type { ModelRequest, ModelUsage, SeenAnswer } from "../ports/models.ts";

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

/** Tokens a second that a model reads at least, before it was measured: a model of 7 billion parameters on two cores. */
const SLOWEST_READER = 8;
/** A measured speed is of another prompt, and the machine may be busy now. */
const READING_SLACK = 3;

export interface ReadingTime {
  readonly tokens: number;
  /** Null before it was measured. */
  readonly expectedMs: number | null;
  /** How long it may take. */
  readonly mostMs: number;
}

/** How long a model reads a request. `reads`: tokens a second, 0 if unknown. */
export function expectReading(request: Omit<ModelRequest, "signal">, reads: number): ReadingTime {
  const { system = "", messages } = request;
  const tokens = messages.reduce((sum, { text }) => sum + estimateTokens(text), estimateTokens(system));
  const timeAt = (speed: number) => Math.ceil((tokens / speed) * 1000);
  const expectedMs = reads > 0 ? timeAt(reads) : null;
  return {
    tokens,
    expectedMs,
    mostMs: expectedMs === null ? timeAt(SLOWEST_READER) : READING_SLACK * expectedMs,
  };
}

/** Measures one answer. */
export function createSpeedWatch(clock: () => number) {
  const begun = clock();
  let first = Number.NaN;
  return {
    heard(): void {
      if (Number.isNaN(first)) first = clock();
    },
    /** The tokens that the server read itself, and those that it wrote; null without a first word. */
    seen({ inputTokens, outputTokens, cachedTokens }: ModelUsage): SeenAnswer | null {
      if (Number.isNaN(first)) return null;
      const read = Math.max(0, inputTokens - cachedTokens);
      return { read, readMs: first - begun, wrote: outputTokens, wroteMs: clock() - first };
    },
  };
}
