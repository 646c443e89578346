import { createCountWatch } from "../../domain/models/circles.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { modelMessagesFor } from "../../domain/texts/models.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import { giveWay } from "../platform/give-way.ts";
import type {
  Model,
  ModelAnswer,
  ModelEvent,
  ModelFailure,
  ModelMessage,
  ModelRequest,
  ModelUsage,
} from "../ports/models.ts";

/** How one request ended. The one place that judges the end of a stream. */
export type Completion = FinishedCompletion | UnfinishedCompletion;

/** The model said what it wanted to say: words, tool calls or both. */
interface FinishedCompletion {
  readonly kind: "finished";
  readonly answer: ModelAnswer;
}

export type UnfinishedCompletion =
  /** The longest answer was reached: the words may stop anywhere, and the arguments of a tool call may be incomplete. */
  | { readonly kind: "cut"; readonly answer: ModelAnswer }
  /** The provider's filter stopped the answer; there may be words before it. */
  | { readonly kind: "refused"; readonly answer: ModelAnswer }
  /** No words and no tool call. */
  | { readonly kind: "empty"; readonly failure: ModelFailure }
  | { readonly kind: "failed"; readonly failure: ModelFailure }
  /** `signal`: the caller gave up. `deadline`: the time was over. */
  | { readonly kind: "aborted"; readonly by: "signal" | "deadline"; readonly failure: ModelFailure };

export { createPace, createSpeedWatch, expectReading } from "./pace.ts";

export interface CompleteOptions {
  /** When the time is over, retries included. Default: only the request's own signal ends it. */
  readonly deadline?: AbortSignal;
  /** The words as they come. */
  readonly onText?: (text: string) => void;
  /** Words and thoughts as they come. */
  readonly onHeard?: (text: string) => void;
  readonly onRetry?: (retry: Extract<ModelEvent, { type: "retrying" }>) => void;
  /** Asks again after what passes by itself. Default: the model's own tries are all. */
  readonly patience?: Patience;
}

/** Waits out temporary failures: wanted by a task that runs for an hour, not by a user at a terminal. */
export interface Patience {
  /** Called with every end; returns how long to wait before the same request is sent again, or null for no retry. */
  waitFor(completion: Completion): number | null;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Asks and waits for the end. Never rejects as long as the model's stream does not. */
export async function complete(
  model: Model,
  request: ModelRequest,
  listening: CompleteOptions = {},
): Promise<Completion> {
  const { patience, deadline } = listening;
  for (;;) {
    const completion = await askModelOnce(model, request, listening);
    const waitMs = patience?.waitFor(completion) ?? null;
    if (waitMs === null || request.signal.aborted) return completion;
    await patience?.pause(waitMs, withDeadline(request.signal, deadline));
  }
}

function withDeadline(signal: AbortSignal, deadline: AbortSignal | undefined): AbortSignal {
  return deadline === undefined ? signal : AbortSignal.any([signal, deadline]);
}

/** Characters of an answer. A server may send a whole one at once, and each of its words is looked at. */
const MOST_IN_ONE_GO = 1_000;

async function askModelOnce(
  model: Model,
  request: ModelRequest,
  { deadline, onText, onHeard, onRetry }: CompleteOptions,
): Promise<Completion> {
  const { signal, endsAfter = Number.POSITIVE_INFINITY } = request;
  if (signal.aborted || deadline?.aborted) return failedCompletion(ABORTED, signal);
  let [inOneGo, length] = [0, 0];
  const { counts } = createCountWatch();
  for await (const event of model.generate({ ...request, signal: withDeadline(signal, deadline) })) {
    if (event.type === "finished") return toCompletion(event.answer);
    if (event.type === "failed") return failedCompletion(event.failure, signal);
    if (event.type === "text") onText?.(event.text);
    if (event.type === "retrying") onRetry?.(event);
    if (event.type === "text") length += event.text.length;
    const isCounting = event.type === "text" && request.endsAfter !== undefined && counts(event.text);
    if (length > endsAfter || isCounting)
      return failedCompletion(endlessFailure(model, endsAfter, isCounting), signal);
    if (event.type !== "text" && event.type !== "reasoning") continue;
    onHeard?.(event.text);
    inOneGo += event.text.length;
    if (inOneGo < MOST_IN_ONE_GO) continue;
    inOneGo = 0;
    await giveWay();
  }
  // The port promises an end; a stream without one lost it.
  return failedCompletion(
    { code: "cut-off", message: "the stream ended without an answer", retryable: true },
    signal,
  );
}

/** `small` is for a window that the full request does not fit into. */
export type RequestSize = "full" | "small";

export interface CompleteFittingOptions extends CompleteOptions {
  /** The size that is known to fit from an earlier answer. Default: full. */
  readonly size?: RequestSize;
  /** The full request was too long: the small one follows. */
  readonly onTooLong?: () => void;
}

/** Asks; a request that is too long for the model is asked once more, smaller. */
export async function completeFitting(
  model: Model,
  request: (size: RequestSize) => ModelRequest,
  fitting: CompleteFittingOptions = {},
): Promise<{ readonly completion: Completion; readonly size: RequestSize }> {
  const { size = "full", onTooLong } = fitting;
  const completion = await complete(model, request(size), fitting);
  if (size === "small" || !isTooLong(completion)) return { completion, size };
  onTooLong?.();
  return { completion: await complete(model, request("small"), fitting), size: "small" };
}

const isTooLong = (one: Completion) => one.kind === "failed" && one.failure.code === "context-too-long";

function toCompletion(answer: ModelAnswer): Completion {
  if (answer.finish === "filtered") return { kind: "refused", answer };
  if (answer.text.trim() === "" && answer.toolCalls.length === 0)
    return { kind: "empty", failure: { code: "empty", message: "", retryable: true } };
  return { kind: answer.finish === "length" ? "cut" : "finished", answer };
}

function failedCompletion(failure: ModelFailure, signal: AbortSignal): Completion {
  if (failure.code === "aborted")
    return { kind: "aborted", by: signal.aborted ? "signal" : "deadline", failure };
  return { kind: failure.code === "empty" ? "empty" : "failed", failure };
}

function endlessFailure({ provider, model }: Model, chars: number, isCounting: boolean): ModelFailure {
  const facts = { provider, model, address: "", detail: `${Math.round(chars / 1000)} kB` };
  const word = (locale: Locale) =>
    modelMessagesFor(locale)[isCounting ? "inCircles" : "answerTooLong"](facts);
  return { code: "endless", message: word("en"), texts: inEveryLanguage(word), retryable: false };
}

export const ABORTED: ModelFailure = { code: "aborted", message: "", retryable: false };

/** Why there is no whole answer, as the port's facts, for callers that only report it. */
export function completionFailure(unanswered: UnfinishedCompletion): ModelFailure {
  switch (unanswered.kind) {
    case "cut":
      return { code: "cut-off", message: "max_tokens", retryable: false };
    case "refused":
      return { code: "cut-off", message: "filtered", retryable: false };
    default:
      return unanswered.failure;
  }
}

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
/** The answer was damaged on its way; the same request usually succeeds. */
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

/** A reader's result for an answer; `problem` is sent to the model. */
export type JsonReading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

export type JsonAnswer<T> = (
  | { readonly kind: "read"; readonly value: T }
  /** Twice not what was asked for. */
  | { readonly kind: "malformed"; readonly problem: string }
  | Exclude<UnfinishedCompletion, { readonly kind: "cut" }>
) & { readonly usage: ModelUsage };

export interface JsonQuestion<T> extends CompleteOptions {
  readonly request: Omit<ModelRequest, "json" | "tools">;
  readonly read: (text: string) => JsonReading<T>;
  /** Words the complaint to the model; default: in English, without the form. */
  readonly again?: (problem: string) => string;
}

const WRONG_CHARS = 4_000;

/** Asks for one JSON document; an answer in another form is sent back once. The usage is that of all answers. */
export async function askJson<T>(model: Model, question: JsonQuestion<T>): Promise<JsonAnswer<T>> {
  const { request, read, again = wrongAnswerText } = question;
  const messages: ModelMessage[] = [...request.messages];
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  let problem = "";
  for (const _ of ["asked", "asked again"]) {
    const completion = await complete(model, { ...request, messages, json: true }, question);
    if (completion.kind !== "finished" && completion.kind !== "cut") return { ...completion, usage };
    const { text, usage: used } = completion.answer;
    usage.inputTokens += used.inputTokens;
    usage.outputTokens += used.outputTokens;
    usage.cachedTokens += used.cachedTokens;
    const reading = read(text);
    if (reading.ok) return { kind: "read", value: reading.value, usage };
    problem = completion.kind === "cut" ? `${ANSWER_WAS_CUT}; ${reading.problem}` : reading.problem;
    messages.push(
      { role: "assistant", text: shortenWrongAnswer(text) },
      { role: "user", text: again(problem) },
    );
  }
  return { kind: "malformed", problem, usage };
}

const ANSWER_WAS_CUT = "the answer was cut because it was too long, so write less";

function wrongAnswerText(problem: string): string {
  return `That answer cannot be used: ${problem}. Answer again with one JSON object of the form asked for.`;
}

/** A provider refuses a message without words. */
function shortenWrongAnswer(text: string): string {
  if (text.trim() === "") return "(nothing)";
  return text.length > WRONG_CHARS ? `${text.slice(0, WRONG_CHARS)}…` : text;
}

/** Shorter than this, what two pieces share may be chance. */
const SURE_OVERLAP = 12;
const LONGEST_OVERLAP = 4_000;
/** A piece that begins like the whole answer did is the answer again. */
const SAME_START = 40;

/** Joins a cut answer and its continuation without what the second repeats. A second that starts over replaces the first. */
export function stitchAnswers(head: string, tail: string): string {
  const start = head.trimStart().slice(0, SAME_START);
  if (start.length === SAME_START && tail.trimStart().startsWith(start)) return tail;
  const going = isInFence(head) ? tail.replace(/^\s*(?:```|~~~)[^\s`~][^\n]*\n/, "") : tail;
  return head + going.slice(overlapLength(head, going));
}

/** Characters at the start of the second that the first ends in. */
function overlapLength(head: string, tail: string): number {
  const lastLine = head.slice(head.lastIndexOf("\n") + 1);
  const most = Math.min(head.length, tail.length, LONGEST_OVERLAP);
  for (let length = most; length > 0; length--) {
    if (!head.endsWith(tail.slice(0, length))) continue;
    const isLine = length >= lastLine.length && lastLine.trim().length >= 3;
    return length >= SURE_OVERLAP || isLine ? length : 0;
  }
  return 0;
}

/** Whether a text ends between two fences. */
function isInFence(text: string): boolean {
  let open: string | null = null;
  for (const [, mark, info] of text.matchAll(/^ {0,3}(`{3,}|~{3,})([^\n]*)$/gm)) {
    if (mark === undefined) continue;
    if (open === null) open = mark;
    else if (mark.startsWith(open) && info?.trim() === "") open = null;
  }
  return open !== null;
}

/** Pieces that one answer may come in. */
const MOST_PIECES = 6;

const GO_ON =
  "Your answer was cut off at its maximum length. Continue exactly where it stopped, in the middle of a line if necessary. Repeat nothing and explain nothing.";

/** Asks, and lets the model continue an answer that was cut by its length. `cut`: it was never complete. */
export async function completeWhole(
  model: Model,
  request: (size: RequestSize) => ModelRequest,
  fitting: CompleteFittingOptions & { readonly onCut?: () => void } = {},
): Promise<{ readonly completion: Completion; readonly size: RequestSize }> {
  const first = await completeFitting(model, request, fitting);
  const { size } = first;
  let { completion } = first;
  for (let piece = 2; completion.kind === "cut" && piece <= MOST_PIECES; piece++) {
    const before = completion.answer;
    if (before.text.trim() === "" || before.toolCalls.length > 0) break;
    fitting.onCut?.();
    const asked = request(size);
    const messages: readonly ModelMessage[] = [
      ...asked.messages,
      { role: "assistant", text: before.text.trimEnd() },
      { role: "user", text: GO_ON },
    ];
    const { endsAfter } = asked;
    const left = endsAfter === undefined ? {} : { endsAfter: endsAfter - before.text.length };
    const next = await complete(model, { ...asked, messages, ...left }, fitting);
    // A window that the answer itself has filled shows that it has no end.
    if (next.kind === "empty" || isTooLong(next)) break;
    if (next.kind !== "finished" && next.kind !== "cut") return { completion: next, size };
    const answer = { ...next.answer, text: stitchAnswers(before.text, next.answer.text) };
    // It says the same again: it will not get further.
    if (next.kind === "cut" && answer.text.length <= before.text.length) break;
    completion = { kind: next.kind, answer };
  }
  return { completion, size };
}
