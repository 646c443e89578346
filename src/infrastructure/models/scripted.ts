import type {
  Model,
  ModelAnswer,
  ModelEvent,
  ModelFailure,
  ModelMessage,
  ModelRequest,
  ModelRole,
} from "../../application/ports/models.ts";
import { familyOf } from "../../domain/models/model-facts.ts";
import { mapTexts } from "../../domain/platform/json-members.ts";
import { createAnswer } from "./answer.ts";
import { createFailures, type Failures, lastingFailure } from "./failures.ts";
import { generateWithRetries, type TryOutcome } from "./generate-answer.ts";
import { fieldAt, type Json, listAt, textAt } from "./json-fields.ts";
import type { ModelDeps } from "./model-settings.ts";

/** The content of a script: the first entry that fits answers. docs/scripted-models.md describes the format. */
export interface Script {
  readonly answers: readonly ScriptedAnswer[];
}

type ScriptedAnswer = ReturnType<typeof readAnswer>;

/** Returns the values of `{{1}}`, `{{2}}` …; undefined when the text does not fit. */
type Matcher = (text: string) => readonly string[] | undefined;

/** Throws an Error that says what is wrong and where. */
export function readScript(tree: Json): Script {
  const entries = Array.isArray(tree) ? tree : fieldAt(tree, "answers");
  if (!Array.isArray(entries)) throw new Error("no list `answers`");
  return { answers: entries.map((entry, index) => readAnswer(entry, `answers[${index}]`)) };
}

const KEYS = "when times text chunks reasoning tool_calls finish usage delay_ms pause_ms fail".split(" ");
const WHEN_KEYS = ["role", "message", "system", "turn", "step"];
const FAIL_KEYS = ["code", "message", "status", "retry_after_ms"];
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const FINISHES = ["stop", "length", "tool-calls", "filtered"];

function readAnswer(entry: Json, place: string) {
  onlyKeys(entry, KEYS, place);
  const when = fieldAt(entry, "when") ?? {};
  onlyKeys(when, WHEN_KEYS, `${place}.when`);
  const text = textAt(entry, "text");
  const chunks = listAt(entry, "chunks").map(String);
  const finish = fieldAt(entry, "finish");
  const usage = fieldAt(entry, "usage");
  const times = numberAt(entry, "times", place);
  return {
    when: {
      role: oneOf(fieldAt(when, "role"), ROLES, `${place}.when.role`) as ModelRole | undefined,
      message: matcher(fieldAt(when, "message"), `${place}.when.message`),
      system: matcher(fieldAt(when, "system"), `${place}.when.system`),
      turn: numberAt(when, "turn", `${place}.when`),
      step: numberAt(when, "step", `${place}.when`),
    },
    /** How often this entry answers; then the next that fits does. */
    times: times ?? Number.POSITIVE_INFINITY,
    chunks: chunks.length > 0 ? chunks : pieces(text),
    reasoning: textAt(entry, "reasoning"),
    toolCalls: listAt(entry, "tool_calls").map((call, index) => {
      const name = textAt(call, "name");
      if (name === "") throw new Error(`${place}.tool_calls[${index}] has no name`);
      return { name, arguments: fieldAt(call, "arguments") ?? {} };
    }),
    finish: oneOf(finish, FINISHES, `${place}.finish`) as ModelAnswer["finish"] | undefined,
    usage: {
      input: numberAt(usage, "input", `${place}.usage`),
      output: numberAt(usage, "output", `${place}.usage`),
      cached: numberAt(usage, "cached", `${place}.usage`),
    },
    delayMs: numberAt(entry, "delay_ms", place) ?? 0,
    pauseMs: numberAt(entry, "pause_ms", place) ?? 0,
    fail: readFailure(fieldAt(entry, "fail"), `${place}.fail`),
  };
}

function readFailure(fail: Json, place: string) {
  if (fail === undefined) return undefined;
  if (typeof fail !== "string") onlyKeys(fail, FAIL_KEYS, place);
  const code = oneOf(typeof fail === "string" ? fail : fieldAt(fail, "code"), Object.keys(KINDS), place);
  if (code === undefined) throw new Error(`${place} has no code`);
  return {
    code: code as ModelFailure["code"],
    message: textAt(fail, "message"),
    status: numberAt(fail, "status", place),
    retryAfterMs: numberAt(fail, "retry_after_ms", place),
  };
}

/** As a model would stream it: a word at a time. */
function pieces(text: string): string[] {
  return text.match(/\S*\s*/g)?.filter((piece) => piece !== "") ?? [];
}

/** A contained text, in any case; `/…/` is a pattern. */
function matcher(wanted: Json, place: string): Matcher | undefined {
  if (wanted === undefined) return undefined;
  if (typeof wanted !== "string") throw new Error(`${place} is not a text`);
  const written = /^\/(.*)\/([imsu]*)$/s.exec(wanted);
  if (written === null) {
    const lower = wanted.toLowerCase();
    return (text) => (text.toLowerCase().includes(lower) ? [] : undefined);
  }
  const pattern = new RegExp(written[1] ?? "", written[2]);
  return (text) => pattern.exec(text)?.slice(1);
}

function onlyKeys(value: Json, known: readonly string[], place: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${place} is not a map`);
  const stranger = Object.keys(value).find((key) => !known.includes(key));
  if (stranger !== undefined)
    throw new Error(`${place} has an unknown key ${stranger}; known are ${known.join(", ")}`);
}

function oneOf(value: Json, known: readonly string[], place: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && known.includes(value)) return value;
  throw new Error(`${place} is none of ${known.join(", ")}`);
}

function numberAt(value: Json, key: string, place: string): number | undefined {
  const found = fieldAt(value, key);
  if (found === undefined || (typeof found === "number" && found >= 0)) return found;
  throw new Error(`${place}.${key} is not a number`);
}

/** The user's last message, which turn it is (from 1) and the number of tool results since. */
function scriptPosition({ messages }: Pick<ModelRequest, "messages">) {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return {
    message: messages[last]?.text ?? "",
    turn: messages.filter(({ role }) => role === "user").length,
    step: messages.slice(last + 1).filter(({ role }) => role === "tool").length,
  };
}

/** The matches of the patterns, when all conditions of `when` hold. */
function fitsRequest(
  { when }: ScriptedAnswer,
  asked: { readonly role: ModelRole | undefined; readonly system: string } & ReturnType<
    typeof scriptPosition
  >,
): readonly string[] | undefined {
  if (when.role !== undefined && when.role !== asked.role) return undefined;
  if (when.turn !== undefined && when.turn !== asked.turn) return undefined;
  if (when.step !== undefined && when.step !== asked.step) return undefined;
  if (when.system !== undefined && when.system(asked.system) === undefined) return undefined;
  return when.message === undefined ? [] : when.message(asked.message);
}

export interface ScriptedSettings {
  readonly provider: string;
  readonly model: string;
  /** Absolute. */
  readonly file: string;
  readonly role?: ModelRole;
}

export interface ScriptedModelDeps
  extends Pick<ModelDeps, "messages" | "mask" | "limits" | "random" | "pause"> {
  /** YAML or JSON as a tree; throws what is wrong with the file. */
  readonly loadScript: (file: string) => Promise<unknown>;
}

/** Answers from a file, for demonstrations and tests: streams, calls tools, waits and fails as the file says. */
export function createScriptedModel(settings: ScriptedSettings, deps: ScriptedModelDeps): Model {
  const { provider, model, file, role } = settings;
  const { messages } = deps;
  const failures = createFailures({ provider, model, baseUrl: file, apiKey: undefined }, deps);
  const used = new Map<ScriptedAnswer, number>();
  let loading: Promise<Script | ModelFailure> | undefined;
  const load = () => {
    loading ??= deps.loadScript(file).then(readScript).catch(unusable);
    return loading;
  };
  const unusable = (error: unknown): ModelFailure => {
    const why = error instanceof Error ? error.message : String(error);
    const failure = lastingFailure("not-configured", messages, (words) => words.scriptUnusable(file, why));
    return { ...failure, cause: error };
  };

  async function* attempt(request: ModelRequest): AsyncGenerator<ModelEvent, TryOutcome> {
    const script = await load();
    if ("code" in script) return { kind: "failed", failure: script, again: false };
    const asked = { ...scriptPosition(request), role, system: request.system ?? "" };
    const chosen = script.answers.find(
      (one) => (used.get(one) ?? 0) < one.times && fitsRequest(one, asked) !== undefined,
    );
    if (chosen === undefined) {
      const shown = asked.message.slice(0, 80);
      const failure = lastingFailure("not-configured", messages, (words) =>
        words.noScriptedAnswer(file, shown),
      );
      return { kind: "failed", failure, again: false };
    }
    used.set(chosen, (used.get(chosen) ?? 0) + 1);
    const fill = filler(asked.message, fitsRequest(chosen, asked) ?? []);
    return yield* playAnswer({ ...deps, failures }, chosen, request, fill);
  }

  return {
    provider,
    model,
    local: true,
    isScripted: true,
    family: familyOf(model),
    generate: (request) => generateWithRetries(attempt, deps, request, { local: true }),
    check: async () => {
      const script = await load();
      if ("code" in script) return { ok: false, failure: script };
      return { ok: true, detail: messages.doctor.scripted(file) };
    },
  };
}

interface PlayScriptDeps extends Pick<ModelDeps, "random" | "pause"> {
  readonly failures: Failures;
}

/** Puts the message, and what the patterns caught of it, in the place of `{{message}}`, `{{1}}` … */
function filler(message: string, caught: readonly string[]): (text: string) => string {
  return (text) =>
    text.replaceAll(/\{\{(message|\d+)\}\}/g, (_, name) =>
      name === "message" ? message : (caught[Number(name) - 1] ?? ""),
    );
}

async function* playAnswer(
  { failures, random, pause }: PlayScriptDeps,
  entry: ScriptedAnswer,
  request: ModelRequest,
  fill: (text: string) => string,
): AsyncGenerator<ModelEvent, TryOutcome> {
  const { signal } = request;
  const aborted = (): TryOutcome => ({ kind: "failed", failure: failures.make("aborted"), again: false });
  if (entry.delayMs > 0) await pause(entry.delayMs, signal);
  if (signal.aborted) return aborted();
  const answer = createAnswer({ newId: () => `call_${Math.floor(random() * 2 ** 48).toString(36)}` });
  answer.reasoning(fill(entry.reasoning));
  yield* answer.drain();
  for (const [index, chunk] of entry.chunks.entries()) {
    if (index > 0 && entry.pauseMs > 0) await pause(entry.pauseMs, signal);
    if (signal.aborted) return aborted();
    answer.text(fill(chunk));
    yield* answer.drain();
  }
  if (entry.fail !== undefined) return failedAs(failures, entry.fail, answer.begun);
  for (const call of entry.toolCalls)
    answer.call({ name: call.name, arguments: mapTexts(call.arguments, fill) });
  const { input, output, cached } = entry.usage;
  const said = entry.chunks.join("").length + JSON.stringify(entry.toolCalls).length;
  answer.usage({
    inputTokens: input ?? Math.ceil(JSON.stringify(request.messages.map(withoutImages)).length / 4),
    outputTokens: output ?? Math.ceil(said / 4),
    cachedTokens: cached ?? 0,
  });
  answer.finish(entry.finish ?? "stop");
  const end = answer.end();
  yield* answer.drain();
  if (signal.aborted) return aborted();
  return end.kind === "answer" ? end : { kind: "failed", failure: failures.make("empty"), again: false };
}

/** Megabytes that are not read here. */
function withoutImages(message: ModelMessage): ModelMessage {
  return message.role === "user" ? { role: message.role, text: message.text } : message;
}

function failedAs(failures: Failures, fail: NonNullable<ScriptedAnswer["fail"]>, begun: boolean): TryOutcome {
  const { code, message, status, retryAfterMs } = fail;
  const failure: ModelFailure = {
    ...failures.make(KINDS[code] ?? "serverError", message),
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  const passing = ["unreachable", "rate-limited", "server-error", "cut-off"].includes(code);
  return { kind: "failed", failure, again: passing && !begun };
}

const KINDS: Readonly<
  Partial<Record<ModelFailure["code"], Parameters<ReturnType<typeof createFailures>["make"]>[0]>>
> = {
  unreachable: "unreachable",
  timeout: "firstTokenTimeout",
  "rate-limited": "rateLimited",
  "server-error": "serverError",
  unauthorized: "unauthorized",
  "unknown-model": "unknownModel",
  "context-too-long": "contextTooLong",
  "bad-request": "badRequest",
  "cut-off": "cutOff",
  empty: "empty",
  malformed: "malformed",
};
