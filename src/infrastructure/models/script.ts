import type { ModelAnswer, ModelFailure, ModelRequest, ModelRole } from "../../application/ports/models.ts";
import { fieldAt, type Json, listAt, textAt } from "./json-fields.ts";

/** What a script says: the first entry that fits answers. docs/models.md describes the format. */
export interface Script {
  readonly answers: readonly ScriptedAnswer[];
}

export interface ScriptedAnswer {
  readonly when: {
    readonly role?: ModelRole;
    readonly message?: Matcher;
    readonly system?: Matcher;
    readonly turn?: number;
    readonly step?: number;
  };
  /** How often this entry answers; then the next that fits does. */
  readonly times: number;
  readonly chunks: readonly string[];
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: Json }[];
  readonly finish: ModelAnswer["finish"] | undefined;
  readonly usage: { readonly input?: number; readonly output?: number; readonly cached?: number };
  readonly delayMs: number;
  readonly pauseMs: number;
  readonly fail: ScriptedFailure | undefined;
}

export interface ScriptedFailure {
  readonly code: ModelFailure["code"];
  readonly message: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

/** Returns what `{{1}}`, `{{2}}` … stand for; undefined when the text does not fit. */
type Matcher = (text: string) => readonly string[] | undefined;

/** Throws an Error that says what is wrong and where. */
export function readScript(tree: Json): Script {
  const entries = Array.isArray(tree) ? tree : fieldAt(tree, "answers");
  if (!Array.isArray(entries)) throw new Error("no list `answers`");
  return { answers: entries.map((entry, index) => readAnswer(entry, `answers[${index}]`)) };
}

const KEYS = new Set([
  "when",
  "times",
  "text",
  "chunks",
  "reasoning",
  "tool_calls",
  "finish",
  "usage",
  "delay_ms",
  "pause_ms",
  "fail",
]);
const WHEN_KEYS = new Set(["role", "message", "system", "turn", "step"]);
const FAIL_KEYS = new Set(["code", "message", "status", "retry_after_ms"]);
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const FINISHES = ["stop", "length", "tool-calls", "filtered"];
const CODES: readonly ModelFailure["code"][] = [
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
  "unauthorized",
  "unknown-model",
  "context-too-long",
  "bad-request",
  "cut-off",
  "empty",
  "malformed",
];

function readAnswer(entry: Json, place: string): ScriptedAnswer {
  onlyKeys(entry, KEYS, place);
  const when = fieldAt(entry, "when") ?? {};
  onlyKeys(when, WHEN_KEYS, `${place}.when`);
  const text = textAt(entry, "text");
  const chunks = listAt(entry, "chunks").map(String);
  const finish = fieldAt(entry, "finish");
  const times = numberAt(entry, "times", place);
  return {
    when: {
      ...optionalField(
        "role",
        oneOf(fieldAt(when, "role"), ROLES, `${place}.when.role`) as ModelRole | undefined,
      ),
      ...optionalField("message", matcher(fieldAt(when, "message"), `${place}.when.message`)),
      ...optionalField("system", matcher(fieldAt(when, "system"), `${place}.when.system`)),
      ...optionalField("turn", numberAt(when, "turn", `${place}.when`)),
      ...optionalField("step", numberAt(when, "step", `${place}.when`)),
    },
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
      ...optionalField("input", numberAt(fieldAt(entry, "usage"), "input", `${place}.usage`)),
      ...optionalField("output", numberAt(fieldAt(entry, "usage"), "output", `${place}.usage`)),
      ...optionalField("cached", numberAt(fieldAt(entry, "usage"), "cached", `${place}.usage`)),
    },
    delayMs: numberAt(entry, "delay_ms", place) ?? 0,
    pauseMs: numberAt(entry, "pause_ms", place) ?? 0,
    fail: readFailure(fieldAt(entry, "fail"), `${place}.fail`),
  };
}

function readFailure(fail: Json, place: string): ScriptedFailure | undefined {
  if (fail === undefined) return undefined;
  if (typeof fail !== "string") onlyKeys(fail, FAIL_KEYS, place);
  const code = oneOf(typeof fail === "string" ? fail : fieldAt(fail, "code"), CODES, place);
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

/** A text that is contained, in whatever case; `/…/` is a pattern. */
function matcher(wanted: Json, place: string): Matcher | undefined {
  if (wanted === undefined) return undefined;
  if (typeof wanted !== "string") throw new Error(`${place} is no text`);
  const written = /^\/(.*)\/([imsu]*)$/s.exec(wanted);
  if (written === null) {
    const lower = wanted.toLowerCase();
    return (text) => (text.toLowerCase().includes(lower) ? [] : undefined);
  }
  const pattern = new RegExp(written[1] ?? "", written[2]);
  return (text) => pattern.exec(text)?.slice(1);
}

function onlyKeys(value: Json, known: ReadonlySet<string>, place: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${place} is no map`);
  const stranger = Object.keys(value).find((key) => !known.has(key));
  if (stranger !== undefined)
    throw new Error(`${place} has an unknown key ${stranger}; known are ${[...known].join(", ")}`);
}

function oneOf(value: Json, known: readonly string[], place: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && known.includes(value)) return value;
  throw new Error(`${place} is none of ${known.join(", ")}`);
}

function numberAt(value: Json, key: string, place: string): number | undefined {
  const found = fieldAt(value, key);
  if (found === undefined || (typeof found === "number" && found >= 0)) return found;
  throw new Error(`${place}.${key} is no number`);
}

function optionalField<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** The user's last message, which turn it is (from 1) and how many tool results came since. */
export function scriptPosition({ messages }: Pick<ModelRequest, "messages">) {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return {
    message: messages[last]?.text ?? "",
    turn: messages.filter(({ role }) => role === "user").length,
    step: messages.slice(last + 1).filter(({ role }) => role === "tool").length,
  };
}

/** What the patterns caught, when all that `when` asks for holds. */
export function fitsRequest(
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
