import type { ModelAnswer, ModelEvent, ModelUsage, ToolCall } from "../../application/ports/models.ts";
import type { Json } from "./json-fields.ts";
import { createTextCalls } from "./text-calls.ts";
import { createThinkSplitter } from "./think-tags.ts";
import { createTrace } from "./thoughts.ts";

/** What a wire's reader tells while it reads. */
export interface AnswerSink {
  text(piece: string): void;
  reasoning(piece: string): void;
  /** Pieces of a call that belong together have one key; its arguments come as text. */
  callPart(key: string | number, part: { id?: string; name?: string; arguments?: string }): void;
  /** That call is complete; those still open at the end are so then. `whole`: its arguments, if they came in no pieces. */
  callEnd(key: string | number, whole?: string): void;
  call(call: { readonly id?: string; readonly name: string; readonly arguments: unknown }): string;
  usage(usage: Partial<ModelUsage>): void;
  /** The model thought, whether or not it said what. `kept`: as it has to be given back. */
  thought(kept?: Json): void;
  /** Why the model stopped: without it an answer counts as cut off. Undefined: it goes on. */
  finish(reason: ModelAnswer["finish"] | undefined): void;
  /** Nothing of interest follows. `otherwise`: why the model stopped, if nobody said it. */
  over(otherwise?: ModelAnswer["finish"]): void;
  /** The server reports a problem in the middle of the stream. */
  problem(problem: ServerProblem): void;
}

export interface ServerProblem {
  /** The model itself wrote what its server cannot read; asked again, it may write better. */
  readonly unreadable?: boolean;
  readonly status?: number;
  readonly code?: string;
  readonly message: string;
}

export type Ending =
  | { readonly kind: "answer"; readonly answer: ModelAnswer }
  | { readonly kind: "problem"; readonly problem: ServerProblem }
  | { readonly kind: "cut-off" }
  | { readonly kind: "empty"; readonly thought: boolean };

export interface AnswerInProgress extends AnswerSink {
  /** Events since the last time. */
  drain(): readonly ModelEvent[];
  /** Whether anything came: from then on nothing is tried again. */
  readonly begun: boolean;
  readonly state: "open" | "over" | "broken";
  /** Nothing was understood so far, not even an end. */
  readonly isUnknown: boolean;
  end(): Ending;
}

export interface AnswerDeps {
  readonly newId: () => string;
  /** Tools that the model may call by writing it into its text; default: none. */
  readonly callsInText?: ReadonlySet<string>;
  /** Whose thoughts are kept; default: nobody's. */
  readonly thinker?: string;
}

export function createAnswer({ newId, callsInText = new Set(), thinker = "" }: AnswerDeps): AnswerInProgress {
  const trace = createTrace();
  let events: ModelEvent[] = [];
  let begun = false;
  let over = false;
  let text = "";
  let thought = false;
  let finish: ModelAnswer["finish"] | undefined;
  let problem: ServerProblem | undefined;
  let usage: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };

  const emit = (event: ModelEvent) => {
    begun = true;
    events.push(event);
  };
  const reasoning = (piece: string) => {
    if (piece === "") return;
    thought = true;
    emit({ type: "reasoning", text: piece });
  };
  const calls = createCalls(newId, (call) => {
    trace.call(call.id);
    emit({ type: "tool-call", call });
  });
  const textCalls = createTextCalls({
    offered: callsInText,
    text: (piece) => {
      text += piece;
      trace.text();
      emit({ type: "text", text: piece });
    },
    call: calls.add,
  });
  const splitter = createThinkSplitter({ text: textCalls.take, reasoning });

  return {
    get begun() {
      return begun || calls.areOpen();
    },
    get state() {
      return problem === undefined ? (over ? "over" : "open") : "broken";
    },
    get isUnknown() {
      return !begun && !over && finish === undefined && problem === undefined && !calls.areOpen();
    },
    text: (piece) => splitter.take(piece),
    reasoning,
    call: calls.add,
    callPart: calls.part,
    callEnd: calls.end,
    thought: (kept) => {
      thought = true;
      if (kept !== undefined) trace.thought(kept);
    },
    usage: (part) => {
      usage = { ...usage, ...part };
    },
    finish: (reason) => {
      finish = reason;
    },
    over: (otherwise) => {
      over = true;
      finish ??= otherwise;
    },
    problem: (found) => {
      problem ??= found;
    },
    drain: () => {
      const drained = events;
      events = [];
      return drained;
    },
    end: () => {
      splitter.end();
      textCalls.end();
      if (problem !== undefined) return { kind: "problem", problem };
      if (finish === undefined) return { kind: "cut-off" };
      const toolCalls = calls.endAll();
      if (text.trim() === "" && toolCalls.length === 0) {
        if (finish !== "filtered") return { kind: "empty", thought: thought && finish === "length" };
      }
      const why = toolCalls.length > 0 && finish === "stop" ? "tool-calls" : finish;
      const thoughts = toolCalls.length === 0 ? undefined : trace.thoughts(thinker);
      const answer = { text, toolCalls, finish: why, usage, ...(thoughts !== undefined && { thoughts }) };
      return { kind: "answer", answer };
    },
  };
}

/** The tool calls of one answer, whole or in pieces. */
function createCalls(newId: () => string, made: (call: ToolCall) => void) {
  const toolCalls: ToolCall[] = [];
  const open = new Map<string | number, OpenCall>();
  const add: AnswerSink["call"] = ({ id, name, arguments: given }) => {
    const known = id !== undefined && id !== "" && !toolCalls.some((one) => one.id === id);
    const call: ToolCall = { id: known ? id : newId(), name, arguments: given };
    toolCalls.push(call);
    made(call);
    return call.id;
  };
  const part: AnswerSink["callPart"] = (key, piece) => {
    const one = open.get(key) ?? { id: "", name: "", arguments: "" };
    open.set(key, one);
    if (piece.id) one.id = piece.id;
    if (piece.name) one.name ||= piece.name;
    if (piece.arguments) one.arguments += piece.arguments;
  };
  const end: AnswerSink["callEnd"] = (key, whole = "") => {
    const one = open.get(key);
    if (one === undefined) return;
    open.delete(key);
    add({ id: one.id, name: one.name, arguments: parseArguments(one.arguments || whole) });
  };
  return {
    add,
    part,
    end,
    areOpen: () => open.size > 0,
    endAll(): readonly ToolCall[] {
      for (const key of [...open.keys()]) end(key);
      return toolCalls;
    },
  };
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
}

/** What is no JSON stays the text that it is; some models write JSON into a JSON string. */
function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "string") return value;
    const inner: unknown = JSON.parse(value);
    return typeof inner === "object" ? inner : value;
  } catch {
    return text;
  }
}
