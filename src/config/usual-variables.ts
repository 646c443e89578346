import { isOpenAi, OPENROUTER, ollamaAddress } from "../domain/config/configured-kinds.ts";
import type { ConfigWarning } from "../domain/texts/config-problem.ts";
import { DEFAULTS, isOwnVariable, type LoadedConfig } from "./config.ts";
import type { Env } from "./environment.ts";
import { getAt, type Tree, withValue } from "./tree.ts";

interface UsualSetting {
  readonly variable: string;
  /** Null: the variable cannot be used. */
  readonly keys: Readonly<Record<string, string | null>> | null;
  /** Left out if one of these is set elsewhere: half of a server's settings fits no other server. */
  readonly yieldsTo: readonly string[];
  /** Left out where a file says one of these. */
  readonly yieldsToFiles?: readonly string[];
}

/** The OpenRouter model that corresponds to the default coder. */
const ROUTED = "anthropic/claude-sonnet-4.6";

/** A variable of PicoClaw's own that sets one of these has chosen the coder, or given the shipped coder a server. */
const CHOOSES_CODER = [
  "roles.default_coder",
  "roles.coder1.provider",
  "roles.coder2.provider",
  "roles.coder3.provider",
  "providers.claude.type",
  "providers.claude.base_url",
  "providers.claude.api_key",
];

/**
 * Variables of other programs (`OLLAMA_HOST`, `OPENAI_BASE_URL` …). They override the defaults and are overridden by every file: they
 * were usually exported for another program. `said`: what files and our own variables set; `filed`: what files alone do.
 */
export function readUsual(env: Env, said: Tree, filed: Tree) {
  const isIn = (tree: Tree) => (key: string) => getAt(tree, key.split(".")) !== undefined;
  const variables = new Map<string, string>();
  const warnings: ConfigWarning[] = [];
  let tree: Tree = {};
  for (const { variable, keys, yieldsTo, yieldsToFiles = [] } of usualSettings(env)) {
    if (yieldsTo.some(isIn(said)) || yieldsToFiles.some(isIn(filed))) continue;
    if (keys === null) warnings.push({ code: "unusable-variable", variable, key: yieldsTo[0] ?? "" });
    for (const [key, value] of Object.entries(keys ?? {})) {
      tree = withValue(tree, key.split("."), value);
      variables.set(key, variable);
    }
  }
  return { tree, variables, warnings };
}

/** Whether there is anything to read at all: most starts have nothing of it. */
export function hasUsualVariables(env: Env): boolean {
  return usualSettings(env).length > 0;
}

/** Where an Ollama may answer: as Ollama's own variable says, else as configured and as it is by default. Null: no configuration holds. */
export function ollamaPlaces(loaded: LoadedConfig | null, env: Env): readonly [string, ...string[]] {
  const isSet = isOwnVariable(loaded?.sources["ollama.base_url"]);
  const address = isSet ? null : ollamaAddress(env.OLLAMA_HOST);
  const { ollama } = loaded?.config ?? DEFAULTS;
  return address === null ? [ollama.base_url, DEFAULTS.ollama.base_url] : [address];
}

function usualSettings(env: Env): UsualSetting[] {
  return [ollama(env), anthropic(env), openai(env), openrouter(env), coder(env), github(env)].flatMap(
    (one) => (one === null ? [] : [one]),
  );
}

function ollama({ OLLAMA_HOST: given }: Env): UsualSetting | null {
  if (!given) return null;
  const address = ollamaAddress(given);
  const keys = address === null ? null : { "ollama.base_url": address };
  return { variable: "OLLAMA_HOST", keys, yieldsTo: ["ollama.base_url"] };
}

function anthropic({ ANTHROPIC_BASE_URL: given }: Env): UsualSetting | null {
  if (!given) return null;
  const keys = isPlainAddress(given) ? { "providers.claude.base_url": given } : null;
  return {
    variable: "ANTHROPIC_BASE_URL",
    keys,
    yieldsTo: ["providers.claude.base_url", "providers.claude.type"],
  };
}

/** Whether that server is local is not concluded from its address: only a file may say so. */
function openai({ OPENAI_BASE_URL: given, OPENAI_API_KEY: key }: Env): UsualSetting | null {
  if (!given) return null;
  const own = { "providers.openai.base_url": given };
  const other = {
    ...own,
    "providers.openai.type": "openai-compatible",
    ...(key ? {} : { "providers.openai.api_key": null }),
  };
  const keys = isPlainAddress(given) ? (isOpenAi(given) ? own : other) : null;
  return {
    variable: "OPENAI_BASE_URL",
    keys,
    yieldsTo: ["providers.openai.base_url", "providers.openai.type"],
  };
}

function openrouter({ OPENROUTER_API_KEY: key }: Env): UsualSetting | null {
  if (!key) return null;
  const keys = {
    "providers.openrouter.type": "openai-compatible",
    "providers.openrouter.base_url": OPENROUTER,
    "providers.openrouter.model": ROUTED,
    "providers.openrouter.api_key": "env:OPENROUTER_API_KEY",
  };
  return { variable: "OPENROUTER_API_KEY", keys, yieldsTo: ["providers.openrouter"] };
}

/** The default coder where the shipped coder has no key: the first that has one, in the order of `init`. */
function coder(env: Env): UsualSetting | null {
  if (env.ANTHROPIC_API_KEY) return null;
  const unless = { yieldsTo: CHOOSES_CODER, yieldsToFiles: ["roles", "providers"] };
  const { OPENAI_BASE_URL: server = "" } = env;
  if (env.OPENAI_API_KEY || (isPlainAddress(server) && !isOpenAi(server))) {
    const variable = env.OPENAI_API_KEY ? "OPENAI_API_KEY" : "OPENAI_BASE_URL";
    return { variable, keys: { "roles.default_coder": "coder2" }, ...unless };
  }
  if (env.GEMINI_API_KEY)
    return { variable: "GEMINI_API_KEY", keys: { "roles.coder3.provider": "gemini" }, ...unless };
  if (env.DEEPSEEK_API_KEY)
    return { variable: "DEEPSEEK_API_KEY", keys: { "roles.default_coder": "coder1" }, ...unless };
  if (env.OPENROUTER_API_KEY)
    return { variable: "OPENROUTER_API_KEY", keys: { "roles.coder3.provider": "openrouter" }, ...unless };
  return null;
}

function github({ GITHUB_TOKEN: token, GITHUB_PERSONAL_ACCESS_TOKEN: own }: Env): UsualSetting | null {
  if (!token || own) return null;
  return {
    variable: "GITHUB_TOKEN",
    keys: { "forges.github.token": "env:GITHUB_TOKEN" },
    yieldsTo: ["forges.github.token"],
  };
}

function isPlainAddress(text: string): boolean {
  const url = text !== "" && URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}
