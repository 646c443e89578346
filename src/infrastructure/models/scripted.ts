import type {
  Model,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  ModelRole,
} from "../../application/ports/models.ts";
import { familyOf } from "../../domain/models/family.ts";
import { createAnswer } from "./answer.ts";
import { createFailures, type Failures, failureText } from "./failures.ts";
import { generateWithRetries } from "./retries.ts";
import { fitsRequest, readScript, type Script, type ScriptedAnswer, scriptPosition } from "./script.ts";
import type { ModelDeps } from "./model-settings.ts";
import type { TryOutcome } from "./generate-answer.ts";

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

/** Answers from a file, for demonstrations and tests: streams, calls tools, waits and fails as told. */
export function createScriptedModel(settings: ScriptedSettings, parts: ScriptedModelDeps): Model {
  const { provider, model, file, role } = settings;
  const { messages } = parts;
  const failures = createFailures({ provider, model, baseUrl: file, apiKey: undefined }, parts);
  const used = new Map<ScriptedAnswer, number>();
  let loading: Promise<Script | ModelFailure> | undefined;
  const load = () => {
    loading ??= parts.loadScript(file).then(readScript).catch(unusable);
    return loading;
  };
  const unusable = (error: unknown): ModelFailure => ({
    code: "not-configured",
    ...failureText(messages, (words) =>
      words.scriptUnusable(file, error instanceof Error ? error.message : String(error)),
    ),
    retryable: false,
    cause: error,
  });

  async function* attempt(request: ModelRequest): AsyncGenerator<ModelEvent, TryOutcome> {
    const script = await load();
    if ("code" in script) return { kind: "failed", failure: script, again: false };
    const asked = { ...scriptPosition(request), role, system: request.system ?? "" };
    const chosen = script.answers.find(
      (one) => (used.get(one) ?? 0) < one.times && fitsRequest(one, asked) !== undefined,
    );
    if (chosen === undefined) {
      const text = failureText(messages, (words) => words.noScriptedAnswer(file, asked.message.slice(0, 80)));
      return { kind: "failed", failure: { code: "not-configured", ...text, retryable: false }, again: false };
    }
    used.set(chosen, (used.get(chosen) ?? 0) + 1);
    const fill = filler(asked.message, fitsRequest(chosen, asked) ?? []);
    return yield* playAnswer({ ...parts, failures }, chosen, request, fill);
  }

  return {
    provider,
    model,
    local: true,
    family: familyOf(model),
    generate: (request) => generateWithRetries(attempt, parts, request, { local: true }),
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
    answer.call({ name: call.name, arguments: fillPlaceholders(call.arguments, fill) });
  const { input, output, cached } = entry.usage;
  const said = entry.chunks.join("").length + JSON.stringify(entry.toolCalls).length;
  answer.usage({
    inputTokens: input ?? Math.ceil(JSON.stringify(request.messages).length / 4),
    outputTokens: output ?? Math.ceil(said / 4),
    cachedTokens: cached ?? 0,
  });
  answer.finish(entry.finish ?? "stop");
  const end = answer.end();
  yield* answer.drain();
  if (signal.aborted) return aborted();
  return end.kind === "answer" ? end : { kind: "failed", failure: failures.make("empty"), again: false };
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

/** Placeholders in every text of a tree. */
function fillPlaceholders(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((one) => fillPlaceholders(one, fill));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillPlaceholders(one, fill)]));
}
