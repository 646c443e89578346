import type {
  Effort,
  Model,
  ModelChoiceOfRole,
  ModelFailure,
  ModelRole,
  Models,
} from "../../application/ports/models.ts";
import { isInstalled, rankInstalled } from "../../domain/models/catalogue.ts";
import { localityOf } from "../../domain/models/locality.ts";
import { familyOf } from "../../domain/models/model-facts.ts";
import { hasImages, lastingFailure, noImagesFailure } from "./failures.ts";
import type { ModelDeps, ModelSettings, OllamaSettings } from "./model-settings.ts";
import type { ScriptedModelDeps } from "./scripted.ts";
import type { Wire } from "./wire.ts";

/** One entry under `providers`, its key resolved. */
export interface ProviderSettings
  extends Pick<ModelSettings, "apiKey" | "keyVariable" | "maxTokens" | "temperature" | "effort" | "local"> {
  readonly type: ModelSettings["type"] | "scripted";
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly script: string | null;
}

export interface ModelsSettings {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly roles: Readonly<Record<ModelRole, RoleSettings>>;
  readonly ollama: OllamaSettings & { readonly baseUrl: string };
  readonly localOnly: boolean;
  /** Whether a model sees images; undefined if unknown. Default: unknown. */
  readonly seesImages?: (model: string) => boolean | undefined;
  /** Tokens that a model takes; undefined if unknown. Ollama takes what `ollama.max_context` says. */
  readonly windowOf?: (model: string) => number | undefined;
}

export interface RoleSettings {
  readonly provider: string;
  /** Null, as below: the provider's. */
  readonly model: string | null;
  readonly effort: Effort | null;
  /** The user did not choose this model: another may replace it where it is not installed. */
  readonly isDefault?: boolean;
}

const OWN_ADDRESS: Readonly<Partial<Record<ProviderSettings["type"], string>>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

/** A server that does not answer within this time is not waited for. */
const LOOK_MS = 1_000;

/** The roles whose messages may reach a cloud; those of all others stay on this machine. */
const MAY_LEAVE: ReadonlySet<ModelRole> = new Set(["coder1", "coder2", "coder3"]);

export function createModels(settings: ModelsSettings, deps: ModelDeps & ScriptedModelDeps): Models {
  const made = new Map<ModelRole, Model | ModelFailure>();
  const standIns = new Map<ModelRole, string>();
  /** Roles whose shipped default was looked for, and is not there. */
  const away = new Set<ModelRole>();
  let looked: Promise<boolean> | undefined;
  return {
    forRole: (role, choice = {}) => {
      const { provider, model, effort } = choice;
      if (provider ?? model ?? effort) return makeChosen(role, choice);
      const known = made.get(role) ?? make(role, settings.roles[role]);
      made.set(role, known);
      return known;
    },
    async look(signal, role, { provider = "ollama" } = {}) {
      if (role !== undefined && (provider !== "ollama" || !isOpen(role))) return;
      looked ??= lookAround(signal);
      if (!(await looked)) looked = undefined;
    },
  };

  /** The shipped name may be replaced by a model that is installed. */
  function isOpen(role: ModelRole): boolean {
    const { provider, isDefault } = settings.roles[role];
    return isDefault === true && provider === "ollama" && !Object.hasOwn(settings.providers, "ollama");
  }

  /** False if no server answered. */
  async function lookAround(signal: AbortSignal): Promise<boolean> {
    const open = (Object.keys(settings.roles) as ModelRole[]).filter(isOpen);
    if (open.length === 0) return true;
    const installed = await (await import("./list-models.ts")).listModels(
      settings.ollama.baseUrl,
      AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]),
      deps.fetch,
    );
    const [best] = rankInstalled(installed ?? [], "talk");
    for (const role of open) {
      if (isInstalled(installed ?? [], settings.roles[role].model ?? "")) {
        if (away.delete(role)) made.delete(role);
        continue;
      }
      if (best !== undefined) standIns.set(role, best.name);
      else away.add(role);
      made.delete(role);
    }
    return installed !== null;
  }

  function notConfigured(word: (words: ModelDeps["messages"]) => string): ModelFailure {
    return lastingFailure("not-configured", deps.messages, word);
  }

  /** A model belongs to its provider: who chose another provider alone means that provider's model. */
  function makeChosen(role: ModelRole, choice: ModelChoiceOfRole): Model | ModelFailure {
    const configured = settings.roles[role];
    const provider = choice.provider ?? configured.provider;
    const own = provider === configured.provider ? configured.model : null;
    const effort = choice.effort ?? configured.effort;
    const isDefault = choice.model === undefined && configured.isDefault === true && own !== null;
    return make(role, { provider, model: choice.model ?? own, effort, isDefault });
  }

  function make(role: ModelRole, asked: RoleSettings): Model | ModelFailure {
    const { provider: name, model: configured, effort } = asked;
    const standIn = configured === settings.roles[role].model ? standIns.get(role) : undefined;
    const chosen = standIn ?? configured;
    const { messages } = deps;
    const provider = providerOf(settings, name);
    if (provider === undefined) return notConfigured((words) => words.unknownProvider(role, name));
    const { type, apiKey, keyVariable } = provider;
    const model = chosen ?? provider.model ?? (type === "scripted" ? "scripted" : null);
    if (model === null) return notConfigured((words) => words.noModelName(name));

    const address = provider.baseUrl ?? (type === "ollama" ? settings.ollama.baseUrl : null);
    const locality = localityOf({ type, baseUrl: address, model, declared: provider.local });
    const mustStayLocal = settings.localOnly && !MAY_LEAVE.has(role);
    if (mustStayLocal && !locality.local) {
      const remote = { provider: name, model, why: locality.why };
      return lastingFailure("refused-remote", messages, (words) => words.refusedRemote(role, remote));
    }

    if (type === "scripted") {
      const { script } = provider;
      if (script === null)
        return notConfigured((words) => words.scriptUnusable("-", `providers.${name}.script`));
      const named = { provider: name, model, local: true, isScripted: true, seesImages: false };
      return lateModel(named, messages, async () => {
        const { createScriptedModel } = await import("./scripted.ts");
        return createScriptedModel({ provider: name, model, file: script, role }, deps);
      });
    }
    const baseUrl = address ?? OWN_ADDRESS[type];
    if (baseUrl === undefined) return notConfigured((words) => words.noBaseUrl(name));
    if (keyVariable !== undefined && apiKey === undefined)
      return lastingFailure(
        "no-key",
        messages,
        (words) => `${words.noKey(name, keyVariable)}\n→ ${words.remedy.setKey(keyVariable)}`,
      );
    const { local } = locality;
    const chosenEffort = effort ?? provider.effort;
    const own: ModelSettings = {
      ...provider,
      type,
      provider: name,
      model,
      local,
      baseUrl,
      effort: chosenEffort,
    };
    const isAway = away.has(role) && standIn === undefined && configured === settings.roles[role].model;
    const instead = standIn !== undefined && configured !== null ? { insteadOf: configured } : {};
    const seesImages = settings.seesImages?.(model);
    const window = type === "ollama" ? settings.ollama.maxContext : settings.windowOf?.(model);
    return lateModel(
      { provider: name, model, local, seesImages, window, isAway, ...instead },
      messages,
      async () => {
        const { createWireModel } = await import("./wire-model.ts");
        const wire = await wireFor(own, settings.ollama);
        return createWireModel(wire, own, deps, { mustStayLocal: mustStayLocal && type === "ollama" });
      },
    );
  }
}

function providerOf({ providers, ollama }: ModelsSettings, name: string): ProviderSettings | undefined {
  if (Object.hasOwn(providers, name)) return providers[name];
  if (name !== "ollama") return undefined;
  return {
    type: "ollama",
    model: null,
    baseUrl: ollama.baseUrl,
    apiKey: undefined,
    keyVariable: undefined,
    maxTokens: null,
    temperature: null,
    effort: null,
    local: false,
    script: null,
  };
}

/** Its protocol is loaded when it is first asked: one of six, and often none. */
function lateModel(
  named: Omit<Model, "family" | "generate" | "check" | "identify" | "findNewer">,
  messages: ModelDeps["messages"],
  load: () => Promise<Model>,
): Model {
  let loading: Promise<Model> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    ...named,
    family: familyOf(named.model),
    async *generate(request) {
      if (named.seesImages === false && hasImages(request))
        yield { type: "failed", failure: noImagesFailure(messages, named) };
      else yield* (await loaded()).generate(request);
    },
    check: async (signal) => (await loaded()).check(signal),
    identify: async (signal) => (await (await loaded()).identify?.(signal)) ?? null,
    findNewer: async (signal) => (await (await loaded()).findNewer?.(signal)) ?? null,
  };
}

async function wireFor(settings: ModelSettings, ollama: OllamaSettings): Promise<Wire> {
  switch (settings.type) {
    case "anthropic":
      return (await import("./wires/anthropic.ts")).createAnthropicWire(settings);
    case "openai":
      return (await import("./wires/openai-responses.ts")).createOpenAiResponsesWire(settings);
    case "openai-compatible":
      return (await import("./wires/openai-chat.ts")).createOpenAiChatWire(settings);
    case "google":
      return (await import("./wires/gemini.ts")).createGeminiWire(settings);
    case "ollama":
      return (await import("./wires/ollama.ts")).createOllamaWire(settings, ollama);
  }
}
