import { isInstalled } from "../models/rank-installed.ts";
import type { SetupMessages } from "../texts/texts.ts";
import { type ChosenModel, type ModelChoice, SHIPPED_OLLAMA_MODELS } from "./choice.ts";
import type { SetupFindings } from "./found.ts";

const OLLAMA = "http://127.0.0.1:11434";
/** Whose role is whose by the shipped configuration. */
const CODERS: Readonly<Record<string, string>> = { claude: "coder3", openai: "coder2", deepseek: "coder1" };

/** The configuration file of a choice. What is as shipped stands as a comment. */
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
    ...section("roles", [...talkRoles(found, choice), ...coderRole(choice)], ["default_coder: coder3"]),
    "",
    ...comment(words.security),
    ...section("security", choice.cloudMayTalk ? ["local_only: false"] : [], ["local_only: true"]),
    "",
    ...comment(words.ollama),
    ...section("ollama", ollama.baseUrl === OLLAMA ? [] : [`base_url: ${quoted(ollama.baseUrl)}`], [
      `base_url: ${quoted(OLLAMA)}`,
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

function modelOf({ provider, model }: ChosenModel): string {
  return `{ provider: ${provider}, model: ${quoted(model)} }`;
}

/** What is set, or an example behind #. */
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

function quoted(text: string): string {
  return JSON.stringify(text);
}

function comment(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}
