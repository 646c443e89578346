import type {
  ModelAnswer,
  ModelEvent,
  ModelMessage,
  ModelThoughts,
  ModelUsage,
  ToolCall,
} from "../../application/ports/models.ts";
import { createCircleWatch } from "../../domain/models/circles.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { fieldAt, type Json } from "./json-fields.ts";
import type { ModelSettings } from "./model-settings.ts";

/** An answer with thoughts, part by part as the model wrote it: the order counts for those who signed it. */
type TracePart = { readonly thought: Json } | { readonly call: string } | "text";

export function thinkerOf({ type, model }: Pick<ModelSettings, "type" | "model">): string {
  return `${type} ${model}`;
}

type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;

/** Nothing where the thoughts are another model's. */
function traceOf({ thoughts }: AssistantMessage, settings: ModelSettings): readonly Json[] {
  return thoughts?.thinker === thinkerOf(settings) && Array.isArray(thoughts.parts) ? thoughts.parts : [];
}

/** The thoughts alone, as the reader of this wire kept them. */
export function thoughtsOf(message: AssistantMessage, settings: ModelSettings): readonly Json[] {
  return traceOf(message, settings)
    .map((part) => fieldAt(part, "thought"))
    .filter((thought) => thought !== undefined);
}

/** Writes thoughts, text and calls in the order of arrival; pieces without a position are last. */
export function writeInOrder<T>(
  message: AssistantMessage,
  settings: ModelSettings,
  write: {
    readonly thought: (what: Json) => T;
    readonly text: (text: string) => T;
    readonly call: (call: ToolCall) => T;
  },
): T[] {
  const open = new Map((message.toolCalls ?? []).map((call) => [call.id, call]));
  let text = message.text;
  const written: T[] = [];
  for (const part of [...traceOf(message, settings), "text", ...[...open.keys()].map((call) => ({ call }))]) {
    const thought = fieldAt(part, "thought");
    const call = open.get(String(fieldAt(part, "call") ?? ""));
    if (thought !== undefined) written.push(write.thought(thought));
    else if (call !== undefined) {
      open.delete(call.id);
      written.push(write.call(call));
    } else if (part === "text" && text.trim() !== "") {
      written.push(write.text(text));
      text = "";
    }
  }
  return written;
}

/** Undefined when there were no thoughts to keep. */
function thoughtsIn(parts: readonly TracePart[], thinker: string): ModelThoughts | undefined {
  return parts.some((part) => typeof part === "object" && "thought" in part) ? { thinker, parts } : undefined;
}

const THINK_OPENINGS = ["<think>", "<thinking>"];

/** Separates `<think>…</think>` at the start of a streamed text; later tags stay, so that an answer about them is whole. */
export function createThinkSplitter(give: {
  readonly text: (text: string) => void;
  readonly reasoning: (text: string) => void;
}) {
  let state: "start" | "inside" | "after" | "text" = "start";
  let closing = "";
  let held = "";
  const text = (piece: string) => piece !== "" && give.text(piece);

  const atStart = () => {
    const trimmed = held.trimStart();
    const opening = THINK_OPENINGS.find((tag) => trimmed.startsWith(tag));
    if (opening !== undefined) {
      state = "inside";
      closing = opening.replace("<", "</");
      held = trimmed.slice(opening.length);
      inside();
    } else if (!THINK_OPENINGS.some((tag) => tag.startsWith(trimmed))) release();
  };
  const inside = () => {
    const end = held.indexOf(closing);
    const kept = end === -1 ? partialTagLength(held, closing) : 0;
    const thought = end === -1 ? held.slice(0, held.length - kept) : held.slice(0, end);
    if (thought !== "") give.reasoning(thought);
    held = end === -1 ? held.slice(held.length - kept) : held.slice(end + closing.length);
    if (end !== -1) {
      state = "after";
      after();
    }
  };
  /** White space between the thoughts and the answer belongs to neither. */
  const after = () => {
    held = held.trimStart();
    if (held !== "") release();
  };
  const release = () => {
    state = "text";
    text(held);
    held = "";
  };

  return {
    take: (piece: string): void => {
      if (state === "text") return void text(piece);
      held += piece;
      if (state === "start") atStart();
      else if (state === "inside") inside();
      else after();
    },
    /** The answer is over: the held-back text is passed on. */
    end: (): void => {
      if (held === "") return;
      if (state === "inside") give.reasoning(held);
      else text(held);
      held = "";
    },
  };
}

/** How many characters at the end of `text` may be the beginning of `tag`. */
function partialTagLength(text: string, tag: string): number {
  for (let size = Math.min(tag.length - 1, text.length); size > 0; size -= 1)
    if (text.endsWith(tag.slice(0, size))) return size;
  return 0;
}

export interface TextCallsDeps {
  readonly offered: ReadonlySet<string>;
  readonly text: (text: string) => void;
  readonly call: (call: { readonly name: string; readonly arguments: unknown }) => void;
}

const TAG = "<tool_call>";
/** The beginnings of an answer that may consist only of a call. */
const CALL_OPENINGS = [TAG, "{", "[{", "```json"];

/** Small local models write calls as text: it is held back, becomes a call if it names an offered tool, else is given as it is. */
export function createTextCalls({ offered, text, call }: TextCallsDeps) {
  let state: "start" | "text" | "held" = offered.size === 0 ? "text" : "start";
  let held = "";
  const give = (piece: string) => {
    if (piece !== "") text(piece);
  };
  const atStart = () => {
    const begun = held.trimStart();
    if (CALL_OPENINGS.some((opening) => begun.startsWith(opening))) state = "held";
    else if (!CALL_OPENINGS.some((opening) => opening.startsWith(begun))) {
      state = "text";
      inText();
    }
  };
  /** Passes text on, except for a possible beginning of a tag. */
  const inText = () => {
    const tag = offered.size === 0 ? -1 : held.indexOf(TAG);
    const keep = tag !== -1 ? held.length - tag : offered.size === 0 ? 0 : partialTagLength(held, TAG);
    give(held.slice(0, held.length - keep));
    held = held.slice(held.length - keep);
    if (tag !== -1) state = "held";
  };
  return {
    take: (piece: string): void => {
      held += piece;
      if (state === "start") atStart();
      else if (state === "text") inText();
    },
    /** The answer is over: decides about the held-back text. */
    end: (): void => {
      const read = state === "held" ? readCalls(held, offered) : undefined;
      give(read === undefined ? held : read.rest);
      for (const one of read?.calls ?? []) call(one);
      held = "";
    },
  };
}

interface ReadCalls {
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly rest: string;
}

/** Undefined if any part is not a call: half a call is not run. */
function readCalls(held: string, offered: ReadonlySet<string>): ReadCalls | undefined {
  const inTags = [...held.matchAll(/<tool_call>([\s\S]*?)(?:<\/tool_call>|$)/g)];
  const documents = inTags.length > 0 ? inTags.map((match) => match[1] ?? "") : [unfenced(held)];
  const calls = documents.map((document) => callsIn(document, offered));
  if (calls.some((found) => found === undefined)) return undefined;
  const rest = inTags.length > 0 ? held.replaceAll(/<tool_call>[\s\S]*?(?:<\/tool_call>|$)/g, "").trim() : "";
  return { calls: calls.flatMap((found) => found ?? []), rest };
}

function unfenced(text: string): string {
  return /^\s*```json\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

function callsIn(document: string, offered: ReadonlySet<string>): ReadCalls["calls"] | undefined {
  return attemptOr(undefined, () => {
    const value: unknown = JSON.parse(document);
    const calls = (Array.isArray(value) ? value : [value]).map((one) => asCall(one, offered));
    return calls.length > 0 && calls.every((one) => one !== undefined) ? calls : undefined;
  });
}

function asCall(value: unknown, offered: ReadonlySet<string>) {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, arguments: args, parameters } = value as Record<string, unknown>;
  const given = args ?? parameters;
  if (typeof name !== "string" || !offered.has(name)) return undefined;
  return typeof given === "object" && given !== null ? { name, arguments: given } : undefined;
}

/** The events that a wire's reader reports while it reads. */
export interface AnswerSink {
  text(piece: string): void;
  reasoning(piece: string): void;
  /** Pieces of a call that belong together have one key; its arguments come as text. */
  callPart(key: string | number, part: { id?: string; name?: string; arguments?: string }): void;
  /** That call is complete; those still open at the end are so then. `whole`: its arguments, if they did not arrive in pieces. */
  callEnd(key: string | number, whole?: string): void;
  call(call: { readonly id?: string; readonly name: string; readonly arguments: unknown }): string;
  usage(usage: Partial<ModelUsage>): void;
  /** The model thought, whether or not it said what. `kept`: as it has to be given back. */
  thought(kept?: Json): void;
  /** Why the model stopped: without it an answer counts as cut off. Undefined: it continues. */
  finish(reason: ModelAnswer["finish"] | undefined): void;
  /** Nothing of interest follows. `otherwise`: why the model stopped, if no event said it. */
  over(otherwise?: ModelAnswer["finish"]): void;
  /** The server reports a problem in the middle of the stream. */
  problem(problem: ServerProblem): void;
}

export interface ServerProblem {
  /** The model wrote something that its server cannot read; a retry may succeed. */
  readonly unreadable?: boolean;
  readonly status?: number;
  readonly code?: string;
  readonly message: string;
}

type Ending =
  | { readonly kind: "answer"; readonly answer: ModelAnswer }
  | { readonly kind: "problem"; readonly problem: ServerProblem }
  | { readonly kind: "cut-off" }
  | { readonly kind: "empty"; readonly thought: boolean };

export interface AnswerInProgress extends AnswerSink {
  /** Events since the last time. */
  drain(): readonly ModelEvent[];
  /** Characters of text, thoughts and calls so far. */
  readonly size: number;
  /** Whether it repeats one piece without end. */
  readonly circles: boolean;
  /** Whether any data arrived: from then on nothing is retried. */
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
  /** Whose thoughts are kept; default: none. */
  readonly thinker?: string;
}

/** A hundred times the longest context there is: a larger figure of a server is ignored. */
const MOST_TOKENS = 100_000_000;

export function createAnswer({ newId, callsInText = new Set(), thinker = "" }: AnswerDeps): AnswerInProgress {
  const trace: TracePart[] = [];
  let events: ModelEvent[] = [];
  let begun = false;
  let over = false;
  let size = 0;
  let circles = false;
  let text = "";
  let thought = false;
  let finish: ModelAnswer["finish"] | undefined;
  let problem: ServerProblem | undefined;
  let usage: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };

  const { repeatsItself } = createCircleWatch();
  const measure = (piece: string) => {
    size += piece.length;
    circles ||= repeatsItself(piece);
  };
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
    trace.push({ call: call.id });
    emit({ type: "tool-call", call });
  });
  const textCalls = createTextCalls({
    offered: callsInText,
    text: (piece) => {
      text += piece;
      if (trace.at(-1) !== "text") trace.push("text");
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
    get size() {
      return size;
    },
    get circles() {
      return circles;
    },
    text: (piece) => {
      measure(piece);
      splitter.take(piece);
    },
    reasoning: (piece) => {
      measure(piece);
      reasoning(piece);
    },
    call: (call) => {
      size += (JSON.stringify(call.arguments) ?? "").length;
      return calls.add(call);
    },
    callPart: (key, part) => {
      measure(part.arguments ?? "");
      calls.part(key, part);
    },
    callEnd: calls.end,
    thought: (kept) => {
      thought = true;
      if (kept !== undefined) trace.push({ thought: kept });
    },
    usage: (part) => {
      const isMeant = ([, tokens]: readonly [string, number]) => tokens <= MOST_TOKENS;
      usage = { ...usage, ...Object.fromEntries(Object.entries(part).filter(isMeant)) };
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
      const thoughts = toolCalls.length === 0 ? undefined : thoughtsIn(trace, thinker);
      const answer = { text, toolCalls, finish: why, usage, ...(thoughts !== undefined && { thoughts }) };
      return { kind: "answer", answer };
    },
  };
}

function createCalls(newId: () => string, made: (call: ToolCall) => void) {
  const toolCalls: ToolCall[] = [];
  const open = new Map<string | number, OpenCall>();
  const add: AnswerSink["call"] = ({ id, name, arguments: given }) => {
    const known = id !== undefined && id !== "" && !toolCalls.some((one) => one.id === id);
    const call: ToolCall = { id: known ? id : newId(), name, arguments: given };
    // Without a name there is no tool to call, and no result that a server would accept.
    if (name === "") return call.id;
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

/** A text that is not JSON stays as it is; some models write JSON into a JSON string. */
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
