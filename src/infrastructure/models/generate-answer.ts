import type { ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from "../../application/ports/models.ts";
import { type AnswerInProgress, createAnswer } from "./answer.ts";
import type { Failures } from "./failures.ts";
import { eventFrames, FrameTooLong, lineFrames, wholeFrame } from "./frames.ts";
import { findRefusedPart } from "./refused-part.ts";
import { type ModelDeps, type ModelSettings, requestOptions } from "./model-settings.ts";
import { thinkerOf } from "./thoughts.ts";
import { type TokenLimit, tokenLimitIn } from "./token-limit.ts";
import { type ExpiredTimer, type StreamWatch, startStreamWatch } from "./watch.ts";
import type { Wire } from "./wire.ts";

export interface TryDeps extends ModelDeps {
  readonly wire: Wire;
  readonly settings: ModelSettings;
  readonly failures: Failures;
}

export type TryOutcome =
  | { readonly kind: "answer"; readonly answer: ModelAnswer }
  /**
   * `again`: worth another try. `without`: a part of the request that the server does not know. `limit`: how long an answer
   * it would give.
   */
  | {
      readonly kind: "failed";
      readonly failure: ModelFailure;
      readonly again: boolean;
      readonly without?: string;
      readonly limit?: TokenLimit;
    };

/** Sends one request and yields its answer as it comes. Ends within the limits, and at once when aborted. */
export async function* tryOnce(
  parts: TryDeps,
  request: ModelRequest,
  without: ReadonlySet<string>,
): AsyncGenerator<ModelEvent, TryOutcome> {
  const { wire, settings, failures } = parts;
  if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
  const ending = new AbortController();
  const abort = () => ending.abort();
  request.signal.addEventListener("abort", abort, { once: true });
  let expired: ExpiredTimer | undefined;
  let reached = false;
  const { url, headers, body } = wire.request(request, without);
  const watch = startStreamWatch({
    limits: parts.limits,
    connects: (signal) => parts.connects(url, signal),
    expire: (which) => {
      expired = which;
      ending.abort();
    },
  });
  const answer = createAnswer({
    newId: () => newCallId(parts.random),
    thinker: thinkerOf(settings),
    ...(WRITES_CALLS.has(settings.type) && { callsInText: new Set(request.tools?.map(({ name }) => name)) }),
  });
  const sent = JSON.stringify(body);
  try {
    const response = await parts.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: sent,
      signal: ending.signal,
      redirect: "manual",
      timeout: false,
      ...(settings.local && { proxy: false }),
    });
    reached = true;
    watch.connected();
    if (response.status !== 200) {
      const text = await readErrorStart(response);
      const failure = failures.ofResponse(response, text);
      const { maxTokens } = requestOptions(settings, request);
      return {
        ...failedTry(failure, isPassing(failure) || failure.code === "malformed"),
        ...fixForRefusal(failure, text, { sent, without, maxTokens }),
      };
    }
    const unreadable = yield* readAnswerStream(parts, response, answer, watch, request.signal);
    if (unreadable !== undefined) return failedTry(failures.make("malformed", unreadable), false);
  } catch (error) {
    if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
    if (error instanceof FrameTooLong) return failedTry(failures.make("malformed", "> 32 MiB"), false);
    if (expired !== undefined && expired !== "over") return timeoutOutcome(parts, expired);
    if (expired === undefined) {
      const cause = { cause: error };
      const detail = error instanceof Error && "code" in error ? String(error.code) : String(error);
      if (!reached) return failedTry(failures.make("unreachable", detail, cause), true);
      return failedTry(failures.make("cutOff", detail, cause), !answer.begun);
    }
  } finally {
    watch.stop();
    request.signal.removeEventListener("abort", abort);
    ending.abort();
  }
  if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
  const begun = answer.begun;
  const end = answer.end();
  yield* answer.drain();
  switch (end.kind) {
    case "answer":
      return { kind: "answer", answer: end.answer };
    case "problem": {
      const failure = failures.ofProblem(end.problem);
      return failedTry(failure, (isPassing(failure) || end.problem.unreadable === true) && !begun);
    }
    case "cut-off":
      return failedTry(failures.make("cutOff"), !begun);
    case "empty":
      return failedTry(failures.make(end.thought ? "thoughtOnly" : "empty"), false);
  }
}

/** How the same request may be taken after all. */
function fixForRefusal(
  { code }: ModelFailure,
  text: string,
  asked: {
    readonly sent: string;
    readonly without: ReadonlySet<string>;
    readonly maxTokens: number | null;
  },
): Pick<Extract<TryOutcome, { kind: "failed" }>, "without" | "limit"> {
  if (code !== "bad-request" && code !== "context-too-long") return {};
  const limit = tokenLimitIn(text, asked.maxTokens);
  if (limit !== undefined) return { limit };
  const without = code === "bad-request" ? findRefusedPart(text, asked.sent, asked.without) : undefined;
  return without === undefined ? {} : { without };
}

/** Feeds the answer; returns the beginning of what cannot be read. */
async function* readAnswerStream(
  { wire }: TryDeps,
  response: Response,
  answer: AnswerInProgress,
  watch: StreamWatch,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, string | undefined> {
  if (response.body === null) return undefined;
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("text/html")) return `${type} ${await readErrorStart(response)}`;
  const whole = wire.framing === "sse" && type.includes("application/json");
  const frames = whole ? wholeFrame : wire.framing === "sse" ? eventFrames : lineFrames;
  const take = wire.reader(answer);
  for await (const batch of frames(response.body)) {
    watch.heard();
    for (const frame of batch.frames) {
      const parsed = parseFrame(frame);
      if (parsed === undefined) return frame.slice(0, 200);
      if (parsed !== DONE) take(parsed.value);
      else answer.over("stop");
    }
    const last = batch.torn === undefined ? undefined : parseFrame(batch.torn);
    if (last === DONE) answer.over("stop");
    else if (last !== undefined) take(last.value);
    else if (whole && batch.torn !== undefined) return batch.torn.slice(0, 200);
    if (answer.begun) watch.begun();
    if (answer.state === "over") watch.over();
    watch.away(true);
    yield* answer.drain();
    watch.away(false);
    if (answer.state === "broken" || signal.aborted) break;
    // One document, and no answer in it: whoever is there speaks another protocol.
    if (whole && batch.torn !== undefined && answer.isUnknown) return batch.torn.slice(0, 200);
  }
  return undefined;
}

/** Where small models run. */
const WRITES_CALLS: ReadonlySet<ModelSettings["type"]> = new Set(["ollama", "openai-compatible"]);

const DONE = Symbol("done");

function parseFrame(frame: string): { readonly value: unknown } | typeof DONE | undefined {
  if (frame === "[DONE]") return DONE;
  try {
    return { value: JSON.parse(frame) };
  } catch {
    return undefined;
  }
}

function timeoutOutcome({ failures, limits }: TryDeps, which: Exclude<ExpiredTimer, "over">): TryOutcome {
  const ms = {
    connectTimeout: limits.connectMs,
    firstTokenTimeout: limits.firstTokenMs,
    idleTimeout: limits.idleMs,
  };
  return failedTry(failures.make(which, String(ms[which] / 1000)), which === "connectTimeout");
}

function failedTry(failure: ModelFailure, again: boolean): Extract<TryOutcome, { kind: "failed" }> {
  return { kind: "failed", failure, again };
}

/** Whether it may be gone in a moment: 429 and 5xx, and what says the same in a stream. */
function isPassing({ code, retryable }: ModelFailure): boolean {
  return retryable && (code === "rate-limited" || code === "server-error");
}

const LONGEST_ERROR = 64 * 1024;

/** A server that fails may also never end its page about it: the limits of the try hold here, too. */
async function readErrorStart(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_ERROR) break;
  }
  return text;
}

function newCallId(random: () => number): string {
  return `call_${Math.floor(random() * 2 ** 48).toString(36)}`;
}
