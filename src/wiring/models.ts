import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Models } from "../application/ports/models.ts";
import { type Config, DEFAULTS, type Secrets } from "../config/config.ts";
import { createMasker } from "../domain/policy/mask.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { modelMessagesFor } from "../domain/texts/models.ts";
import type { Fetch } from "../infrastructure/models/model-settings.ts";
import { createModels, type ProviderSettings, type RoleSettings } from "../infrastructure/models/models.ts";
import { canConnect } from "../infrastructure/platform/connections.ts";
import { pause } from "../infrastructure/platform/timers.ts";

export interface ModelsOptions {
  readonly locale: Locale;
  /** PICOCLAW_HOME, where relative scripts lie. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: a masker of all secrets that `secrets` knows. */
  readonly mask?: (text: string) => string;
}

/** The configured models; nothing is contacted until one of them is asked. */
export function openModels(config: Config, secrets: Secrets, options: ModelsOptions): Models {
  const { mask = createMasker({ secrets: secrets.values() }).mask, home, env } = options;
  const { connect_timeout, first_token_timeout, idle_timeout, retries } = config.models;
  const providers = Object.entries(config.providers).map(([name, provider]) => [
    name,
    settingsOf(provider, secrets, home),
  ]);
  const throughProxy = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].some((name) => env[name]);
  return createModels(
    {
      providers: Object.fromEntries(providers),
      roles: {
        chat: roleOf(config, "chat"),
        worker: roleOf(config, "worker"),
        coder1: config.roles.coder1,
        coder2: config.roles.coder2,
        coder3: config.roles.coder3,
      },
      ollama: {
        baseUrl: config.ollama.base_url,
        keepAlive: config.ollama.keep_alive,
        maxContext: config.ollama.max_context,
      },
      localOnly: config.security.local_only,
    },
    {
      fetch: fetch as unknown as Fetch,
      // Behind a proxy a direct connection says nothing.
      connects: throughProxy ? async () => true : canConnect,
      limits: {
        connectMs: connect_timeout * 1000,
        firstTokenMs: first_token_timeout * 1000,
        idleMs: idle_timeout * 1000,
        retries,
      },
      messages: modelMessagesFor(options.locale),
      mask,
      random: Math.random,
      pause,
      loadScript,
    },
  );
}

/** The default's model is Ollama's: who only names another provider means that provider's model. */
function roleOf({ roles, providers }: Config, role: "chat" | "worker"): RoleSettings {
  const { provider, model, effort } = roles[role];
  const untouched = provider !== DEFAULTS.roles[role].provider && model === DEFAULTS.roles[role].model;
  const own = providers[provider];
  if (untouched && (own?.model || own?.type === "scripted")) return { provider, model: null, effort };
  return { provider, model, effort, isDefault: model === DEFAULTS.roles[role].model };
}

function settingsOf(provider: Config["providers"][string], secrets: Secrets, home: string): ProviderSettings {
  const {
    type,
    model,
    base_url: baseUrl,
    api_key,
    max_tokens,
    temperature,
    effort,
    local,
    script,
  } = provider;
  return {
    type,
    model,
    baseUrl,
    apiKey: secrets.resolve(api_key),
    keyVariable: api_key?.startsWith("env:") ? api_key.slice("env:".length) : undefined,
    maxTokens: max_tokens,
    temperature,
    effort,
    local,
    script: script === null ? null : resolve(home, script),
  };
}

/** JSON is read without the YAML library, which takes 30 ms to load. */
async function loadScript(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8");
  if (file.endsWith(".json")) return JSON.parse(text);
  const { parse } = await import("yaml");
  return parse(text, { maxAliasCount: 100 });
}
