import type {
  Model,
  ModelCheck,
  ModelEvent,
  ModelFailure,
  ModelRequest,
} from "../../application/ports/models.ts";
import { findNewer, findSuccessor, SHIPPED_CATALOGUE } from "../../domain/models/catalogue.ts";
import { familyOf } from "../../domain/models/model-facts.ts";
import { type ModelMessages, modelMessagesFor } from "../../domain/texts/models.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import { addressOf, createFailures, hasImages, lastingFailure, noImagesFailure } from "./failures.ts";
import { generateWithRetries, type TryDeps, type TryOutcome, tryOnce } from "./generate-answer.ts";
import { listModels, listOffered } from "./list-models.ts";
import { type ModelDeps, type ModelSettings, plainly, requestOptions } from "./model-settings.ts";
import type { Wire, WireProbe } from "./wire.ts";

/** A model behind HTTP: tries, waits and tries again as the port says. */
export function createWireModel(
  wire: Wire,
  settings: ModelSettings,
  deps: ModelDeps,
  /** Asks the server first whether it would pass the prompt on to a cloud, and if so sends nothing. */
  { mustStayLocal = false }: { readonly mustStayLocal?: boolean } = {},
): Model {
  const failures = createFailures(settings, deps);
  const tryParts: TryDeps = { ...deps, wire, settings, failures };
  const without = new Set<string>();
  let known = !mustStayLocal;
  let answered = false;
  let sees: boolean | undefined;
  let most = Number.POSITIVE_INFINITY;
  async function* attempt(request: ModelRequest): AsyncGenerator<ModelEvent, TryOutcome> {
    if (!known) {
      const refusal = await refuseCloud(tryParts, request.signal);
      if (refusal !== undefined) return refusal;
      known = true;
    }
    let tried = yield* tryOnce(tryParts, atMost(request, most), without);
    answered ||= tried.kind === "answer" || tried.failure.code !== "unreachable";
    for (let more = 0; more < MOST_LIMITS; more++) {
      if (tried.kind !== "failed" || tried.limit === undefined) return tried;
      const { tokens, lasting } = tried.limit;
      if (lasting) most = tokens;
      tried = yield* tryOnce(tryParts, atMost(request, tokens), without);
    }
    return tried;
  }
  /** Ollama itself would drop what a model cannot see, and the model would guess. */
  const isBlind = async (signal: AbortSignal) => {
    sees ??= await askSight(tryParts, signal);
    return sees === false;
  };
  const atMost = (request: ModelRequest, tokens: number): ModelRequest => {
    const { maxTokens } = requestOptions(settings, request);
    return maxTokens !== null && maxTokens > tokens ? { ...request, maxTokens: tokens } : request;
  };
  return {
    provider: settings.provider,
    model: settings.model,
    local: settings.local,
    family: familyOf(settings.model),
    async *generate(request) {
      if (hasImages(request) && (await isBlind(request.signal))) {
        yield { type: "failed", failure: noImagesFailure(deps.messages, settings) };
        return;
      }
      for await (const event of generateWithRetries(attempt, deps, wellFormed(request), {
        local: settings.local,
        without,
        answered: () => answered,
      }))
        yield event.type === "failed"
          ? { ...event, failure: await withRemedy(event.failure, tryParts, request.signal) }
          : event;
    },
    check: (signal) => check(tryParts, signal),
    identify: (signal) => identify(tryParts, signal),
    async findNewer(signal) {
      return settings.local ? null : findNewer(await listServed(tryParts, signal), settings.model);
    },
  };
}

/** How often a server may name a smaller number of tokens for one request. */
const MOST_LIMITS = 3;

async function refuseCloud(deps: TryDeps, signal: AbortSignal): Promise<TryOutcome | undefined> {
  if (signal.aborted) return { kind: "failed", failure: deps.failures.make("aborted"), again: false };
  const patience = AbortSignal.timeout(deps.limits.connectMs);
  const checked = await check(deps, AbortSignal.any([signal, patience]));
  if (checked.ok) return undefined;
  const { failure } = checked;
  if (failure.code === "aborted" && !signal.aborted) {
    const seconds = String(deps.limits.connectMs / 1000);
    return { kind: "failed", failure: deps.failures.make("connectTimeout", seconds), again: true };
  }
  const passing = ["unreachable", "server-error", "rate-limited"].includes(failure.code);
  return { kind: "failed", failure, again: passing && failure.retryable };
}

/** Undefined where the server does not say; the request itself then meets its trouble. */
async function askSight({ wire, settings, fetch, limits }: TryDeps, signal: AbortSignal) {
  if (wire.sight === undefined) return undefined;
  const { url, headers, body, judge } = wire.sight;
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(limits.connectMs)]),
      ...plainly(settings),
    });
    return response.status === 200 ? judge(JSON.parse(await response.text())) : undefined;
  } catch {
    return undefined;
  }
}

async function identify({ wire, settings, fetch }: TryDeps, signal: AbortSignal): Promise<string | null> {
  const { url, headers, identify: read } = wire.probe;
  if (read === undefined) return null;
  try {
    const response = await fetch(url, { method: "GET", headers, signal, ...plainly(settings) });
    return response.status === 200 ? read(JSON.parse(await response.text())) || null : null;
  } catch {
    return null;
  }
}

/** The one line that helps is below the error. */
async function withRemedy(failure: ModelFailure, deps: TryDeps, signal: AbortSignal): Promise<ModelFailure> {
  const remedy =
    failure.code === "aborted" || failure.code === "refused-remote"
      ? undefined
      : await remedyFor(failure, deps, signal);
  if (remedy === undefined) return failure;
  const { message, texts } = failure;
  return {
    ...failure,
    message: `${message}\n→ ${remedy(deps.messages)}`,
    texts: inEveryLanguage(
      (locale) => `${texts?.[locale] ?? message}\n→ ${remedy(modelMessagesFor(locale))}`,
    ),
  };
}

async function check(
  deps: TryDeps,
  signal: AbortSignal,
  { url, headers, judge, instead }: WireProbe = deps.wire.probe,
): Promise<ModelCheck> {
  const { settings, failures, messages } = deps;
  const no = async (failure: ModelFailure): Promise<ModelCheck> => {
    const remedy = await remedyFor(failure, deps, signal);
    return { ok: false, failure, remedy: remedy?.(messages) };
  };
  try {
    const response = await deps.fetch(url, { method: "GET", headers, signal, ...plainly(settings) });
    const text = await response.text();
    // A server of this protocol need not have a list of models.
    if (settings.type === "openai-compatible" && (response.status === 404 || response.status === 405))
      return { ok: true, detail: messages.doctor.answers };
    // A server that knows the page, but not the model, names the model.
    if (response.status === 404 && instead !== undefined && !text.includes(settings.model))
      return await check(deps, signal, instead);
    if (response.status === 404) return no(failures.make("unknownModel"));
    if (response.status !== 200) return no(failures.ofResponse(response, text));
    switch (judge(JSON.parse(text))) {
      case "there":
        return {
          ok: true,
          detail: settings.type === "ollama" ? messages.doctor.pulled : messages.doctor.answers,
        };
      case "unknown":
        return { ok: true, detail: messages.doctor.answers };
      case "missing":
        return no(failures.make("unknownModel"));
      case "in-the-cloud":
        return settings.local ? no(inTheCloud(deps)) : { ok: true, detail: messages.doctor.answers };
    }
  } catch (error) {
    if (signal.aborted) return no(failures.make("aborted"));
    if (error instanceof SyntaxError) return no(failures.make("malformed", error.message));
    return no(failures.ofConnection(error));
  }
}

/** An Ollama on this machine that would pass the prompt on. */
function inTheCloud({ settings, messages }: Pick<TryDeps, "settings" | "messages">): ModelFailure {
  const remote = { provider: settings.provider, model: settings.model, why: "cloud-model" } as const;
  return lastingFailure("refused-remote", messages, (words) => words.refusedRemote("chat", remote));
}

/** The provider's own list of models; none where it has none. */
async function listServed(
  { wire, settings, fetch }: Pick<TryDeps, "wire" | "settings" | "fetch">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (wire.list === undefined) return [];
  const { headers } = wire.probe;
  const listed = await listOffered({ url: wire.list, headers, local: settings.local }, signal, fetch);
  return listed.ok ? listed.models : [];
}

async function remedyFor(
  { code }: ModelFailure,
  deps: Pick<TryDeps, "wire" | "settings" | "fetch">,
  signal: AbortSignal,
): Promise<((words: ModelMessages) => string) | undefined> {
  const { settings, fetch } = deps;
  const { type, provider, model, local, baseUrl, keyVariable } = settings;
  switch (code) {
    case "unreachable":
    case "aborted":
      return ({ remedy }) => {
        // The words about a server that cannot be reached name it.
        const address = code === "unreachable" ? null : addressOf(baseUrl);
        if (type === "ollama") return remedy.startOllama(address);
        return local ? remedy.startServer(address) : remedy.checkAddress(provider);
      };
    case "unknown-model": {
      if (type !== "ollama") {
        const successor = findSuccessor(await listServed(deps, signal), model, SHIPPED_CATALOGUE);
        return ({ remedy }) => remedy.checkModelName(provider, successor);
      }
      const names = (await listModels(baseUrl, signal, fetch))?.map(({ name }) => name) ?? [];
      return ({ remedy }) => remedy.pull(model, names);
    }
    case "unauthorized":
      return keyVariable === undefined ? undefined : ({ remedy }) => remedy.setKey(keyVariable);
    case "refused-remote":
      return ({ remedy }) => remedy.useLocal;
    default:
      return undefined;
  }
}

/** A server would refuse the whole request for half a character. */
function wellFormed(request: ModelRequest): ModelRequest {
  return {
    ...request,
    ...(request.system !== undefined && { system: request.system.toWellFormed() }),
    messages: request.messages.map((message) => ({ ...message, text: message.text.toWellFormed() })),
  };
}
