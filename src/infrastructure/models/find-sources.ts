import { isOpenAi, OPENROUTER } from "../../domain/config/configured-kinds.ts";
import { chooseOffered, SHIPPED_CATALOGUE } from "../../domain/models/catalogue.ts";
import { joinUrl, localityOf } from "../../domain/models/locality.ts";
import type { ModelSource } from "../../domain/models/model-facts.ts";
import { askWindow, listModels, listOffered } from "./list-models.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** One provider as it is configured now, as far as a survey needs it. */
interface ConfiguredProvider {
  readonly type?: string;
  readonly base_url: string | null;
  readonly model: string | null;
}

type Providers = Readonly<Record<string, ConfiguredProvider | undefined>>;

/** Every provider except Ollama that the environment names, asked in parallel for its models. */
async function findSources(env: Env, providers: Providers, signal: AbortSignal): Promise<ModelSource[]> {
  const asked = [
    ...CLOUDS.map((one) => cloud(one, env, providers)).toSpliced(1, 0, openai(env, providers)),
    ...localServers(env).map((server) => localServer(server, providers)),
  ];
  const { claude, openai: own, gemini: google } = providers;
  // A gateway offers models of many vendors.
  const usual = [claude, own, google].flatMap((one) => one?.model ?? []);
  const answers = await Promise.all(
    asked
      .flatMap((one) => (one === null ? [] : [one]))
      .map(async ({ headers, path, onlyIfThere, ...source }) => {
        const { address, local } = source;
        const listed = await listOffered({ url: joinUrl(address, path), headers, local }, signal);
        const models = listed.ok ? listed.models : null;
        const trouble = listed.ok ? null : listed.trouble;
        const wantsKey = trouble?.kind === "refused" && trouble.status === 401;
        if (onlyIfThere === true && !wantsKey && (models === null || models.length === 0)) return null;
        const wanted = source.usual === null ? usual : [source.usual];
        const chosen = models === null ? source.usual : chooseOffered(models, wanted, SHIPPED_CATALOGUE);
        const props = { url: joinUrl(address.replace(/\/v1\/*$/, ""), "props"), headers, local, signal };
        const window = local && models?.length === 1 ? await askWindow(props) : undefined;
        return { ...source, window, models, trouble, usual: chosen };
      }),
  );
  const found = answers.flatMap((one) => (one === null ? [] : [one]));
  // OPENAI_BASE_URL may name one of the usual local addresses.
  return found.filter(({ address }, at) => found.findIndex((one) => sameServer(one.address, address)) === at);
}

type AskedSource = Omit<ModelSource, "window" | "models" | "trouble"> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  /** The user did not name it: where nothing answers, there is nothing to report. */
  readonly onlyIfThere?: true;
};

interface LocalServer {
  readonly provider: string;
  readonly address: string;
}

/** The default addresses of local model servers; llama.cpp's own variable names its port. */
function localServers({ LLAMA_ARG_PORT: port = "" }: Env): readonly LocalServer[] {
  return [
    { provider: "lmstudio", address: "http://127.0.0.1:1234/v1" },
    { provider: "llamacpp", address: `http://127.0.0.1:${/^[1-9]\d{0,4}$/.test(port) ? port : "8080"}/v1` },
    { provider: "vllm", address: "http://127.0.0.1:8000/v1" },
  ];
}

function localServer({ provider, address: usual }: LocalServer, providers: Providers): AskedSource {
  const address = providers[provider]?.base_url ?? usual;
  return {
    provider,
    address,
    local: true,
    keyVariable: null,
    usual: null,
    settings: { type: "openai-compatible", base_url: address, local: true },
    headers: {},
    path: "models",
    onlyIfThere: true,
  };
}

function sameServer(one: string, other: string): boolean {
  const plain = (address: string) => address.replace("//localhost", "//127.0.0.1").replace(/\/+$/, "");
  return plain(one) === plain(other);
}

/** The new file leads to the very address that was asked. */
function elsewhere(address: string, own: string): ModelSource["settings"] {
  return address === own ? null : { base_url: address };
}

/** A service that is asked where its key is set. */
interface Cloud {
  readonly provider: string;
  readonly keyVariable: string;
  /** A variable that names another address. */
  readonly addressVariable?: string;
  readonly address: string;
  readonly path: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
  /** The configuration does not have it by itself. */
  readonly isNew?: boolean;
}

const byBearer = (key: string) => ({ authorization: `Bearer ${key}` });

const CLOUDS: readonly Cloud[] = [
  {
    provider: "claude",
    keyVariable: "ANTHROPIC_API_KEY",
    addressVariable: "ANTHROPIC_BASE_URL",
    address: "https://api.anthropic.com",
    path: "v1/models?limit=100",
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  },
  {
    provider: "gemini",
    keyVariable: "GEMINI_API_KEY",
    address: "https://generativelanguage.googleapis.com/v1beta",
    path: "models?pageSize=200",
    headers: (key) => ({ "x-goog-api-key": key }),
  },
  {
    provider: "deepseek",
    keyVariable: "DEEPSEEK_API_KEY",
    address: "https://api.deepseek.com/v1",
    path: "models",
    headers: byBearer,
  },
  {
    provider: "openrouter",
    keyVariable: "OPENROUTER_API_KEY",
    address: OPENROUTER,
    path: "models",
    headers: byBearer,
    isNew: true,
  },
];

function cloud(
  { provider, keyVariable, addressVariable = "", address: usual, path, headers, isNew = false }: Cloud,
  env: Env,
  providers: Providers,
): AskedSource | null {
  const key = env[keyVariable];
  if (!key) return null;
  const own = providers[provider];
  const address = env[addressVariable] || own?.base_url || usual;
  return {
    provider,
    address,
    local: false,
    keyVariable,
    usual: own?.model ?? null,
    settings: isNew
      ? { type: "openai-compatible", base_url: address, api_key: `env:${keyVariable}` }
      : elsewhere(address, usual),
    headers: headers(key),
    path,
  };
}

const OPENAI = "https://api.openai.com/v1";

/** `OPENAI_BASE_URL` may name any server of this kind; one on a private address is local. */
function openai(env: Env, { openai: own }: Providers): AskedSource | null {
  const key = env.OPENAI_API_KEY;
  const named = env.OPENAI_BASE_URL || null;
  // An address in the file keeps the protocol that the file says.
  const isOwn = named === null ? own?.type !== "openai-compatible" : isOpenAi(named);
  if (!key && isOwn) return null;
  const address = named ?? own?.base_url ?? OPENAI;
  const local = !isOwn && localityOf({ type: "ollama", baseUrl: address, model: "", declared: false }).local;
  return {
    provider: "openai",
    address,
    local,
    keyVariable: key ? "OPENAI_API_KEY" : null,
    usual: isOwn ? (own?.model ?? null) : null,
    settings: isOwn
      ? elsewhere(address, OPENAI)
      : {
          type: "openai-compatible",
          base_url: address,
          api_key: key ? "env:OPENAI_API_KEY" : null,
          local,
        },
    headers: key ? byBearer(key) : {},
    path: "models",
  };
}

/** The first address that answers, else the first: a dead one in an old file does not hide the usual one. */
async function findOllama(addresses: readonly [string, ...string[]], signal: AbortSignal) {
  const asked = [...new Set(addresses)].map(async (baseUrl) => ({
    baseUrl,
    models: await listModels(baseUrl, signal),
  }));
  const answers = await Promise.all(asked);
  return answers.find(({ models }) => models !== null) ?? { baseUrl: addresses[0], models: null };
}

export interface ModelSearch {
  readonly env: Env;
  readonly providers: Providers;
  /** Where Ollama may be; the first that answers counts. */
  readonly ollama: readonly [string, ...string[]];
}

/** The models that this machine can use: those of an Ollama, and those of the sources that the environment names. */
export async function findModels({ env, providers, ollama }: ModelSearch, signal: AbortSignal) {
  const [{ baseUrl, models }, sources] = await Promise.all([
    findOllama(ollama, signal),
    findSources(env, providers, signal),
  ]);
  return { ollama: { baseUrl, reachable: models !== null, models: models ?? [] }, sources };
}
