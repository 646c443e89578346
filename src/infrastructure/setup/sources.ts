import { isOpenAi, OPENROUTER } from "../../domain/config/provider-addresses.ts";
import { localityOf } from "../../domain/models/locality.ts";
import type { ModelSource } from "../../domain/setup/first-config.ts";
import { listOffered } from "../models/list-models.ts";
import { joinUrl } from "../models/wire.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The shipped providers, as far as a survey needs them. */
export interface ShippedProvider {
  readonly base_url: string | null;
  readonly model: string | null;
}

/** Everybody beside Ollama whom the environment names, asked at once for the models that they offer. */
export async function findSources(
  env: Env,
  shipped: Readonly<Record<string, ShippedProvider | undefined>>,
  signal: AbortSignal,
): Promise<ModelSource[]> {
  const asked = [anthropic(env, shipped), openai(env, shipped), deepseek(env, shipped), openrouter(env)];
  return Promise.all(
    asked
      .flatMap((one) => (one === null ? [] : [one]))
      .map(async ({ headers, path, ...source }) => {
        const { address, local } = source;
        const models = await listOffered({ url: joinUrl(address, path), headers, local }, signal);
        return { ...source, models, usual: source.usual ?? favourite(models) };
      }),
  );
}

type AskedSource = Omit<ModelSource, "models"> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
};

function anthropic(
  env: Env,
  { claude }: Readonly<Record<string, ShippedProvider | undefined>>,
): AskedSource | null {
  const key = env.ANTHROPIC_API_KEY;
  if (!key) return null;
  const named = env.ANTHROPIC_BASE_URL || null;
  return {
    provider: "claude",
    address: named ?? claude?.base_url ?? "https://api.anthropic.com",
    local: false,
    usual: claude?.model ?? null,
    settings: named === null ? null : { base_url: named },
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01" },
    path: "v1/models?limit=100",
  };
}

/** `OPENAI_BASE_URL` may name any server of this kind; one on a private address is local. */
function openai(
  env: Env,
  { openai: own }: Readonly<Record<string, ShippedProvider | undefined>>,
): AskedSource | null {
  const key = env.OPENAI_API_KEY;
  const named = env.OPENAI_BASE_URL || null;
  const isOwn = named === null || isOpenAi(named);
  if (!key && isOwn) return null;
  const address = named ?? own?.base_url ?? "https://api.openai.com/v1";
  const local = !isOwn && localityOf({ type: "ollama", baseUrl: address, model: "", declared: false }).local;
  return {
    provider: "openai",
    address,
    local,
    usual: isOwn ? (own?.model ?? null) : null,
    settings: isOwn
      ? null
      : {
          type: "openai-compatible",
          base_url: address,
          api_key: key ? "env:OPENAI_API_KEY" : null,
          local,
        },
    headers: key ? { authorization: `Bearer ${key}` } : {},
    path: "models",
  };
}

function deepseek(
  env: Env,
  { deepseek: own }: Readonly<Record<string, ShippedProvider | undefined>>,
): AskedSource | null {
  const key = env.DEEPSEEK_API_KEY;
  if (!key) return null;
  return {
    provider: "deepseek",
    address: own?.base_url ?? "https://api.deepseek.com/v1",
    local: false,
    usual: own?.model ?? null,
    settings: null,
    headers: { authorization: `Bearer ${key}` },
    path: "models",
  };
}

function openrouter(env: Env): AskedSource | null {
  const key = env.OPENROUTER_API_KEY;
  if (!key) return null;
  return {
    provider: "openrouter",
    address: OPENROUTER,
    local: false,
    usual: null,
    settings: { type: "openai-compatible", base_url: OPENROUTER, api_key: "env:OPENROUTER_API_KEY" },
    headers: { authorization: `Bearer ${key}` },
    path: "models",
  };
}

/** Of a long list without a shipped name, one that writes code well. */
function favourite(models: readonly string[] | null): string | null {
  return models?.find((name) => /claude-sonnet/.test(name)) ?? models?.[0] ?? null;
}
