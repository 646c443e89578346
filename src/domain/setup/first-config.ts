import type { HeadName } from "../config/configured-kinds.ts";
import { type InstalledModel, isInstalled, rankInstalled } from "../models/catalogue.ts";
import type { ModelSource } from "../models/model-facts.ts";
import type { SetupMessages } from "../texts/setup.ts";

export interface SetupFindings {
  readonly ollama: {
    readonly baseUrl: string;
    readonly reachable: boolean;
    /** Pulled models that answer on that machine; those that Ollama passes on to its cloud do not count. */
    readonly models: readonly InstalledModel[];
  };
  readonly sources: readonly ModelSource[];
  readonly keys: readonly { readonly variable: string; readonly there: boolean }[];
  /** The variable that holds a token of GitHub; null: none. */
  readonly github: string | null;
  readonly git: boolean;
  /** Null: nothing answers. */
  readonly docker: { readonly version: string } | null;
  /** Null where it does not exist: elsewhere than on Linux. */
  readonly bubblewrap: boolean | null;
  /** Agents of the user's own that could write code; absent: none. */
  readonly heads?: readonly OfferedHead[];
}

/** An agent that is installed and logged in: by a key or a token for use without a person, or as a person. */
export interface OfferedHead {
  readonly name: HeadName;
  readonly by: "key" | "file";
}

/** The keys that are looked for, in the order in which their models are preferred. */
export const KEY_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "GEMINI_API_KEY",
  "DEEPSEEK_API_KEY",
  "OPENROUTER_API_KEY",
] as const;

export interface ChosenModel {
  /** `ollama`, or a name under `providers`. */
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
}

export interface ModelChoice {
  /** The model of Mio and Shiro; null: none yet. */
  readonly chat: ChosenModel | null;
  readonly coder: ChosenModel | null;
  /** The agent that writes code instead of a model; absent: none. */
  readonly head?: OfferedHead | null;
  /** Conversations may leave this machine. Only ever by a person's word. */
  readonly cloudMayTalk: boolean;
}

/** The names that PicoClaw ships for Ollama. */
const SHIPPED_OLLAMA_MODELS = { chat: "chat-v1:latest", worker: "worker-v1:latest" } as const;

/** Models that may talk, best first: those of this machine, then those of clouds. */
export function offeredFor(found: SetupFindings, purpose: "talk" | "code"): ChosenModel[] {
  const installed = rankInstalled(found.ollama.models, purpose).map(({ name }) => ofOllama(name));
  const shipped =
    purpose === "talk" && isInstalled(found.ollama.models, SHIPPED_OLLAMA_MODELS.chat)
      ? [ofOllama(SHIPPED_OLLAMA_MODELS.chat)]
      : [];
  const local = [
    ...shipped,
    ...installed.filter(
      ({ model }) => model !== SHIPPED_OLLAMA_MODELS.chat && model !== SHIPPED_OLLAMA_MODELS.worker,
    ),
    ...found.sources.filter((source) => source.local).flatMap(modelsOf),
  ];
  const cloud = found.sources.filter((source) => !source.local).flatMap(modelsOf);
  // A coder may be in the cloud, and is better there.
  return purpose === "talk" ? [...local, ...cloud] : [...cloud, ...local];
}

/** One model a cloud after the local ones: who wants another of the same cloud types its name. */
export function talkersToShow(found: SetupFindings): ChosenModel[] {
  const talkers = offeredFor(found, "talk");
  const clouds = talkers.filter(({ local }) => !local);
  return [
    ...talkers.filter(({ local }) => local),
    ...clouds.filter(({ provider }, at) => clouds.findIndex((one) => one.provider === provider) === at),
  ];
}

/** Offered to a person first: a cloud answers questions only where no local model can. */
export function recommendedChoice(found: SetupFindings): ModelChoice {
  const [chat = null] = talkersToShow(found);
  return { ...usualChoice(found), chat, cloudMayTalk: chat?.local === false };
}

/** The choice without an answer from the user: questions stay on this machine. */
export function usualChoice(found: SetupFindings): ModelChoice {
  return {
    chat: offeredFor(found, "talk").find(({ local }) => local) ?? null,
    coder: offeredFor(found, "code")[0] ?? null,
    // A person's own login is only ever used by that person's word.
    head: offeredHeads(found).find(({ by }) => by === "key") ?? null,
    cloudMayTalk: false,
  };
}

/** Offered where no key leads to a better coder. */
export function offeredHeads({ heads = [], sources, bubblewrap }: SetupFindings): readonly OfferedHead[] {
  const hasCloud = sources.some(({ local, trouble }) => !local && trouble === null);
  return hasCloud || bubblewrap !== true ? [] : heads;
}

function ofOllama(model: string): ChosenModel {
  return { provider: "ollama", model, local: true };
}

/** The shipped one first where it is offered. */
function modelsOf({ provider, local, models, usual, trouble }: ModelSource): ChosenModel[] {
  // A server may answer messages though it lists nothing.
  const unlisted = trouble?.kind === "answered" && usual !== null ? [usual] : [];
  const names = (models ?? unlisted).filter((name) => !NO_TALK.test(name));
  const ordered =
    usual !== null && names.includes(usual) ? [usual, ...names.filter((name) => name !== usual)] : names;
  return ordered.map((model) => ({ provider, model, local }));
}

const NO_TALK =
  /embed|whisper|tts|audio|realtime|image|dall-e|moderation|transcribe|rerank|sora|search|babbage|davinci|instruct$/i;

const OLLAMA = "http://127.0.0.1:11434";
/** Whose role is whose by the shipped configuration. */
const CODERS: Readonly<Record<string, string>> = { claude: "coder3", openai: "coder2", deepseek: "coder1" };

/** The configuration file of a choice. Settings with the shipped value are comments. */
export function firstConfig(found: SetupFindings, choice: ModelChoice, words: SetupMessages["file"]): string {
  const { ollama, github } = found;
  const used = [choice.chat?.provider, choice.coder?.provider];
  const providers = found.sources.filter(
    ({ provider, settings }) => settings !== null && used.includes(provider),
  );
  return [
    ...comment(words.head),
    "",
    ...comment(words.locale),
    "# locale: en",
    "",
    ...comment(words.roles),
    ...section(
      "roles",
      [...talkRoles(found, choice), ...coderRole(choice), ...headRole(choice)],
      ["default_coder: coder3"],
    ),
    "",
    ...(choice.head?.by === "file" ? [...comment(words.login), "head:", "  login: file", ""] : []),
    ...comment(words.security),
    ...section("security", choice.cloudMayTalk ? ["local_only: false"] : [], ["local_only: true"]),
    "",
    ...comment(words.ollama),
    ...section("ollama", ollama.baseUrl === OLLAMA ? [] : [`base_url: ${JSON.stringify(ollama.baseUrl)}`], [
      `base_url: ${JSON.stringify(OLLAMA)}`,
    ]),
    "",
    ...comment(words.keys),
    ...section(
      "providers",
      providers.map(({ provider, settings }) => `${provider}: ${inline(settings ?? {})}`),
      ['claude: { api_key: "env:ANTHROPIC_API_KEY" }'],
    ),
    "",
    ...(github === null || github === "GITHUB_PERSONAL_ACCESS_TOKEN"
      ? []
      : [...comment(words.github), "forges:", `  github: { token: "env:${github}" }`, ""]),
    ...comment(words.worker),
    ...section(
      "worker",
      [],
      ["auto_commit: false", "network: { mode: allow_list, allowed_domains: [packages.example.org] }"],
    ),
    "",
    ...comment(words.budget),
    "# budget: { daily: 5 }",
    "",
  ].join("\n");
}

function talkRoles({ ollama }: SetupFindings, { chat }: ModelChoice): string[] {
  if (chat === null || chat.model === SHIPPED_OLLAMA_MODELS.chat) return [];
  const worker = chat.provider === "ollama" && isInstalled(ollama.models, SHIPPED_OLLAMA_MODELS.worker);
  return [`chat: ${modelOf(chat)}`, ...(worker ? [] : [`worker: ${modelOf(chat)}`])];
}

function coderRole({ coder }: ModelChoice): string[] {
  if (coder === null) return [];
  const role = CODERS[coder.provider] ?? "coder3";
  return [`${role}: ${modelOf(coder)}`, ...(role === "coder3" ? [] : [`default_coder: ${role}`])];
}

function headRole({ head }: ModelChoice): string[] {
  return head == null ? [] : [`coder: { head: ${head.name} }`];
}

function modelOf({ provider, model }: ChosenModel): string {
  return `{ provider: ${provider}, model: ${JSON.stringify(model)} }`;
}

/** The lines that are set, or an example behind #. */
function section(name: string, set: readonly string[], example: readonly string[]): string[] {
  return set.length > 0
    ? [`${name}:`, ...set.map((line) => `  ${line}`)]
    : [`# ${name}:`, ...example.map((line) => `#   ${line}`)];
}

function inline(settings: Readonly<Record<string, string | boolean | null>>): string {
  return `{ ${Object.entries(settings)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join(", ")} }`;
}

function comment(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}
