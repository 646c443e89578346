import { readWrittenCall } from "../../domain/models/worker-output.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type {
  Model,
  ModelAnswer,
  ModelFailure,
  ModelMessage,
  ModelRequest,
  ModelTool,
  ToolCall,
} from "../ports/models.ts";
import {
  ABORTED,
  type CompleteFittingOptions,
  type Completion,
  completeFitting,
  type RequestSize,
  type UnfinishedCompletion,
} from "./complete.ts";

/** The loop only appends to it: a caller that stores the messages can continue after a crash. */
interface Transcript {
  messages(): readonly ModelMessage[];
  add(...messages: readonly ModelMessage[]): Promise<void> | void;
}

export interface ToolResult {
  readonly ok: boolean;
  /** For the model. */
  readonly text: string;
}

export interface LoopStep {
  readonly model: Model;
  /** None in the step that is left for the answer. */
  readonly tools: readonly ModelTool[];
  readonly messages: readonly ModelMessage[];
  readonly size: RequestSize;
}

export interface ToolLoop extends CompleteFittingOptions {
  /** Chosen again for each step: the budget may have changed it. */
  readonly model: () => Model | ModelFailure;
  readonly tools: readonly ModelTool[];
  readonly transcript: Transcript;
  readonly request: (
    step: LoopStep,
  ) => Pick<ModelRequest, "system" | "messages" | "maxTokens" | "temperature" | "effort" | "cacheKey">;
  /** Runs one call; the text says what failed. */
  readonly call: (call: ToolCall) => Promise<ToolResult>;
  /** The reply to an answer without tool calls; null ends the loop with it. Default: it ends. */
  readonly next?: (answer: ModelAnswer) => string | null;
  readonly beforeStep?: (model: Model) => Promise<void> | void;
  /** Every answer, before its calls run. */
  readonly onAnswer?: (answer: ModelAnswer) => Promise<void> | void;
  /** All calls of an answer have their results. */
  readonly afterCalls?: () => Promise<void> | void;
  readonly limits: LoopLimits;
  readonly signal: AbortSignal;
}

interface LoopLimits {
  /** Requests to the model. */
  readonly steps: number;
  /** Whether the last step is left for an answer, without tools. Default: no; the loop ends with `steps`. */
  readonly lastAnswers?: boolean;
  /** How often the same call may fail, nothing that succeeds between, before it is refused. Default: 3. */
  readonly sameFailures?: number;
}

export type LoopEnd =
  /** Without a tool call. Its `finish` says whether it was cut. */
  | { readonly kind: "answered"; readonly answer: ModelAnswer }
  | { readonly kind: "steps" }
  /** The same call failed again and again, also after the model was informed. */
  | { readonly kind: "stuck"; readonly call: ToolCall }
  /** `cut`: the calls of several answers in a row were cut. */
  | UnfinishedCompletion;

/** Answers in a row whose calls were cut, after which the loop ends. */
const MOST_CUTS = 3;

const CUT_CALL =
  "refused: your answer was cut off at its maximum length (max_tokens), so the arguments of this call may be incomplete. Nothing was run. Write less at a time: smaller pieces, one call per answer.";

/** Asks, runs the calls in order and asks again until an answer has none or a limit is reached. Calls of a cut answer are not run. */
export async function toolLoop(loop: ToolLoop): Promise<LoopEnd> {
  const { transcript, limits, signal } = loop;
  const known = new Set(loop.tools.map(({ name }) => name));
  const guard = createRepeatGuard(limits.sameFailures ?? 3);
  let { size = "full" } = loop;
  let cuts = 0;
  for (let step = 1; step <= limits.steps; step++) {
    const model = loop.model();
    if (!("generate" in model)) return { kind: "failed", failure: model };
    await loop.beforeStep?.(model);
    const tools = limits.lastAnswers === true && step === limits.steps ? [] : loop.tools;
    const asked = await askStep(loop, { model, tools, size });
    size = asked.size;
    const { completion } = asked;
    if (completion.kind !== "finished" && completion.kind !== "cut") return completion;
    const { answer } = completion;
    await loop.onAnswer?.(answer);
    const calls = tools.length === 0 ? [] : callsIn(answer, known, transcript.messages().length);
    await transcript.add(assistantMessage(answer, calls));
    if (calls.length === 0) {
      const reply = loop.next?.(answer) ?? null;
      if (reply === null) return { kind: "answered", answer };
      await transcript.add({ role: "user", text: reply });
      continue;
    }
    cuts = completion.kind === "cut" ? cuts + 1 : 0;
    for (const call of calls) {
      const result =
        cuts > 0
          ? { ok: false, text: CUT_CALL }
          : await guard.run(call, typeof call.arguments === "string" ? refuseUnreadable : loop.call);
      await transcript.add({ role: "tool", callId: call.id, name: call.name, text: result.text });
      if (signal.aborted) return { kind: "aborted", by: "signal", failure: ABORTED };
      if (guard.stuck()) return { kind: "stuck", call };
    }
    if (cuts === MOST_CUTS) return { kind: "cut", answer };
    await loop.afterCalls?.();
  }
  return { kind: "steps" };
}

/** Some servers do not report that they cut an answer: arguments that are not JSON show it. */
async function refuseUnreadable({ arguments: written }: ToolCall): Promise<ToolResult> {
  const text = String(written);
  const end = text.slice(-80);
  return {
    ok: false,
    text: `refused: the arguments of this call are not valid JSON. They are ${text.length} characters long and end with ${JSON.stringify(end)}: if that is in the middle of a text, your answer was cut by max_tokens. Nothing was run. Write less at a time: smaller pieces, one call per answer.`,
  };
}

function askStep(
  loop: ToolLoop,
  step: Omit<LoopStep, "messages">,
): Promise<{ readonly completion: Completion; readonly size: RequestSize }> {
  const { model, tools } = step;
  const messages = withEveryResult(loop.transcript.messages());
  return completeFitting(
    model,
    (size) => ({
      ...loop.request({ ...step, messages, size }),
      ...(tools.length > 0 && { tools }),
      signal: loop.signal,
    }),
    { ...loop, size: step.size },
  );
}

/** Small local models write a call as text instead of making it. */
function callsIn(answer: ModelAnswer, known: ReadonlySet<string>, at: number): readonly ToolCall[] {
  if (answer.toolCalls.length > 0) return answer.toolCalls;
  const written = readWrittenCall(answer.text, known);
  return written === undefined ? [] : [{ id: `written_${at}`, ...written }];
}

function assistantMessage(
  { text, toolCalls, thoughts }: ModelAnswer,
  calls: readonly ToolCall[],
): ModelMessage {
  if (calls.length === 0) return { role: "assistant", text };
  if (toolCalls.length === 0) return { role: "assistant", text: "", toolCalls: calls };
  return { role: "assistant", text, toolCalls, ...(thoughts !== undefined && { thoughts }) };
}

/** Providers refuse a call without a result: where a process died over its calls, a result says so. */
export function withEveryResult(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const given = new Set(messages.flatMap((one) => (one.role === "tool" ? [one.callId] : [])));
  const isOpen = ({ id }: ToolCall) => !given.has(id);
  if (!messages.some((one) => one.role === "assistant" && one.toolCalls?.some(isOpen))) return messages;
  return messages.flatMap((one): readonly ModelMessage[] =>
    one.role === "assistant"
      ? [
          one,
          ...(one.toolCalls ?? []).filter(isOpen).map(
            ({ id, name }): ModelMessage => ({
              role: "tool",
              callId: id,
              name,
              text: "interrupted: whether this ran is not known.",
            }),
          ),
        ]
      : [one],
  );
}

/** Stops a model that repeats a failing call: the call is refused with the reason, then the loop ends as stuck. */
function createRepeatGuard(most: number) {
  const refused = `refused: this exact call failed ${most} times and was not run again. Try something else.`;
  /** Since something succeeded, so that calls that take turns in failing are known, too. */
  const failures = new Map<string, number>();
  return {
    async run(call: ToolCall, make: (call: ToolCall) => Promise<ToolResult>): Promise<ToolResult> {
      const key = `${call.name} ${JSON.stringify(call.arguments)}`;
      const before = failures.get(key) ?? 0;
      const result = before >= most ? { ok: false, text: refused } : await make(call);
      if (result.ok) failures.clear();
      else failures.set(key, before + 1);
      return result;
    },
    /** The refused call was made once more. */
    stuck: () => [...failures.values()].some((count) => count > most + 1),
  };
}

export interface ShortenLimits {
  /** How many messages at the end count as new. */
  readonly newest: number;
  readonly newChars: number;
  readonly oldChars: number;
  /** Whose messages are cut. Default: all. */
  readonly role?: ModelMessage["role"];
}

/** For a model whose window is full: what was said shrinks to head and tail, the newest least. */
export function shortenExchange(
  exchange: readonly ModelMessage[],
  { newest, newChars, oldChars, role }: ShortenLimits,
): ModelMessage[] {
  return exchange.map((message, at) => {
    if (role !== undefined && message.role !== role) return message;
    const limit = at >= exchange.length - newest ? newChars : oldChars;
    return message.text.length <= limit ? message : { ...message, text: cutMiddle(message.text, limit) };
  });
}
