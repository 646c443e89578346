import type { Effort, Model, ModelFailure, ModelRole, Models } from "../../application/ports/model.ts";
import { familyOf } from "../../domain/models/family.ts";
import { localityOf } from "../../domain/models/locality.ts";
import { failureText } from "./failures.ts";
import type { ScriptParts } from "./scripted.ts";
import type { ModelParts, ModelSettings, OllamaSettings } from "./settings.ts";
import type { Wire } from "./wire.ts";

/** One entry under `providers`, its key resolved. */
export interface ProviderSettings {
  readonly type: ModelSettings["type"] | "scripted";
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | undefined;
  /** Undefined: no key is referred to. */
  readonly keyVariable: string | undefined;
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly effort: Effort | null;
  readonly local: boolean;
  readonly script: string | null;
}

export interface ModelsSettings {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly roles: Readonly<Record<ModelRole, RoleSettings>>;
  readonly ollama: OllamaSettings & { readonly baseUrl: string };
  readonly localOnly: boolean;
}

export interface RoleSettings {
  readonly provider: string;
  /** Null, as below: the provider's. */
  readonly model: string | null;
  readonly effort: Effort | null;
}

const OWN_ADDRESS: Readonly<Partial<Record<ProviderSettings["type"], string>>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

/** Whose words may reach a cloud; everybody else's stay here. */
const MAY_LEAVE: ReadonlySet<ModelRole> = new Set(["coder1", "coder2", "coder3"]);

/** The models of the configuration, each made when it is first asked for. */
export function createModels(settings: ModelsSettings, parts: ModelParts & ScriptParts): Models {
  const made = new Map<ModelRole, Model | ModelFailure>();
  return {
    forRole: (role) => {
      const known = made.get(role) ?? make(role);
      made.set(role, known);
      return known;
    },
  };

  function notConfigured(word: (words: ModelParts["messages"]) => string): ModelFailure {
    return { code: "not-configured", ...failureText(parts.messages, word), retryable: false };
  }

  function make(role: ModelRole): Model | ModelFailure {
    const { provider: name, model: chosen, effort } = settings.roles[role];
    const { messages } = parts;
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
      const text = failureText(messages, (words) => words.refusedRemote(role, remote));
      return { code: "refused-remote", ...text, retryable: false };
    }

    if (type === "scripted") {
      const { script } = provider;
      if (script === null)
        return notConfigured((words) => words.scriptUnusable("-", `providers.${name}.script`));
      return lateModel({ provider: name, model, local: true }, async () => {
        const { createScriptedModel } = await import("./scripted.ts");
        return createScriptedModel({ provider: name, model, file: script, role }, parts);
      });
    }
    const baseUrl = address ?? OWN_ADDRESS[type];
    if (baseUrl === undefined) return notConfigured((words) => words.noBaseUrl(name));
    if (keyVariable !== undefined && apiKey === undefined)
      return {
        code: "no-key",
        ...failureText(
          messages,
          (words) => `${words.noKey(name, keyVariable)}\n→ ${words.remedy.setKey(keyVariable)}`,
        ),
        retryable: false,
      };
    const { maxTokens, temperature } = provider;
    const { local } = locality;
    const own: ModelSettings = {
      type,
      provider: name,
      model,
      local,
      baseUrl,
      apiKey,
      keyVariable,
      maxTokens,
      temperature,
      effort: effort ?? provider.effort,
    };
    return lateModel({ provider: name, model, local }, async () => {
      const { createWireModel } = await import("./wire-model.ts");
      const wire = await wireFor(own, settings.ollama);
      return createWireModel(wire, own, parts, { mustStayLocal: mustStayLocal && type === "ollama" });
    });
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
  { provider, model, local }: Pick<Model, "provider" | "model" | "local">,
  load: () => Promise<Model>,
): Model {
  let loading: Promise<Model> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    provider,
    model,
    local,
    family: familyOf(model),
    async *generate(request) {
      yield* (await loaded()).generate(request);
    },
    check: async (signal) => (await loaded()).check(signal),
  };
}

async function wireFor(settings: ModelSettings, ollama: OllamaSettings): Promise<Wire> {
  switch (settings.type) {
    case "anthropic":
      return (await import("./anthropic.ts")).createAnthropicWire(settings);
    case "openai":
      return (await import("./openai-responses.ts")).createOpenAiResponsesWire(settings);
    case "openai-compatible":
      return (await import("./openai-chat.ts")).createOpenAiChatWire(settings);
    case "google":
      return (await import("./gemini.ts")).createGeminiWire(settings);
    case "ollama":
      return (await import("./ollama.ts")).createOllamaWire(settings, ollama);
  }
}
