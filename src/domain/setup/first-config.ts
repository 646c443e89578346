import type { SetupMessages } from "../texts/texts.ts";
import { CODER_KEYS, type Found, talkingModels } from "./found.ts";

/** What the shipped configuration asks Ollama for. */
const DEFAULT_MODELS = { chat: "chat-v1:latest", worker: "worker-v1:latest" } as const;

/**
 * The first configuration file: what was found is set, everything else stands as a comment with its default. Without
 * any finding the file sets nothing.
 */
export function firstConfig(found: Found, words: SetupMessages["file"]): string {
  const local = talkingModels(found.ollama.models)[0];
  const roles = [...localRoles(found, local), ...coderRoles(found, local)];
  return [
    ...comment(words.head),
    "",
    ...comment(words.locale),
    "# locale: ja",
    "",
    ...comment(words.roles),
    ...(roles.some((line) => !line.startsWith("#")) ? ["roles:"] : ["# roles:"]),
    ...roles,
    "",
    ...comment(words.ollama),
    "# ollama:",
    `#   base_url: ${JSON.stringify(found.ollama.baseUrl)}`,
    "",
    ...comment(words.keys),
    "# providers:",
    '#   claude: { api_key: "env:ANTHROPIC_API_KEY" }',
    "",
    ...comment(words.worker),
    "# worker:",
    "#   auto_commit: false",
    "#   network: { mode: allow_list, allowed_domains: [packages.example.org] }",
    "",
    ...comment(words.budget),
    "# budget: { daily: 5 }",
    "",
  ].join("\n");
}

function localRoles({ ollama }: Found, local: string | undefined): string[] {
  return (["chat", "worker"] as const).map((role) => {
    const model = DEFAULT_MODELS[role];
    return local === undefined || ollama.models.includes(model)
      ? `#   ${role}: { provider: ollama, model: ${JSON.stringify(model)} }`
      : `  ${role}: { provider: ollama, model: ${JSON.stringify(local)} }`;
  });
}

function coderRoles({ keys }: Found, local: string | undefined): string[] {
  const keyed = CODER_KEYS.find(({ variable }) =>
    keys.some((key) => key.variable === variable && key.there),
  )?.coder;
  if (keyed !== undefined && keyed !== "coder3") return [`  default_coder: ${keyed}`];
  if (keyed === undefined && local !== undefined)
    return [`  coder3: { provider: ollama, model: ${JSON.stringify(local)} }`];
  return ["#   default_coder: coder3"];
}

function comment(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}
