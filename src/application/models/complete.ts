import type { Model, ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from "../ports/models.ts";

/** How one request ended. The one place that judges the end of a stream. */
export type Completion = FinishedCompletion | UnfinishedCompletion;

/** The model said what it wanted to say: words, tool calls or both. */
export interface FinishedCompletion {
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

export interface CompleteOptions {
  /** When the time is over, retries included. Default: only the request's own signal ends it. */
  readonly deadline?: AbortSignal;
  /** The words as they come. */
  readonly onText?: (text: string) => void;
  readonly onRetry?: (retry: Extract<ModelEvent, { type: "retrying" }>) => void;
  /** Asks again after what passes by itself. Default: the model's own tries are all. */
  readonly patience?: Patience;
}

/**
 * Waits out what passes by itself: an overloaded or failing server for minutes, a stream that was cut a few times. Somebody
 * who waits at a terminal wants no such thing; a task that runs for an hour does.
 */
export interface Patience {
  /** Told of every end; how long to wait before the same request is sent again, or null when it is not. */
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

async function askModelOnce(
  model: Model,
  request: ModelRequest,
  { deadline, onText, onRetry }: CompleteOptions,
): Promise<Completion> {
  const { signal } = request;
  if (signal.aborted || deadline?.aborted) return failedCompletion(ABORTED, signal);
  for await (const event of model.generate({ ...request, signal: withDeadline(signal, deadline) })) {
    if (event.type === "finished") return toCompletion(event.answer);
    if (event.type === "failed") return failedCompletion(event.failure, signal);
    if (event.type === "text") onText?.(event.text);
    if (event.type === "retrying") onRetry?.(event);
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
  /** What is known from an earlier answer to fit. Default: full. */
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
  if (size === "small" || completion.kind !== "failed" || completion.failure.code !== "context-too-long")
    return { completion, size };
  onTooLong?.();
  return { completion: await complete(model, request("small"), fitting), size: "small" };
}

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

const ABORTED: ModelFailure = { code: "aborted", message: "", retryable: false };

/** Why there is no whole answer, as the port's facts: for whoever only has to tell it. */
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
