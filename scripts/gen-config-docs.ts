/**
 * Writes what is read off the configuration schema: `src/config/schema.json`, `src/config/defaults.json` and
 * `docs/configuration.md`. It also writes the languages into the doors of the texts.
 * Run it after changing a key or adding a language: `node_modules/.bin/bun scripts/gen-config-docs.ts`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SHORT_VARIABLES } from "../src/config/environment.ts";
import { expectedOf, type KeyInfo, knownKeys, type SchemaNode } from "../src/config/keys.ts";
import { HARMLESS, type PowerRule } from "../src/config/power.ts";
import { configSchema, generateJsonSchema } from "../src/config/schema/root.ts";
import { formatBytes } from "../src/domain/texts/format-text.ts";
import { LOCALES } from "../src/domain/texts/locale.ts";
import { writeTextDoors } from "./text-doors.ts";

const INTRODUCTION = `# Configuration

Generated from the schema by \`scripts/gen-config-docs.ts\`; do not edit by hand.

## Where a value comes from

A key takes its value from the last of these that sets it:

1. the default, or a variable that other programs use as well (below);
2. \`$PICOCLAW_HOME/config.yaml\` (\`PICOCLAW_HOME\` defaults to \`~/.picoclaw\`);
3. \`picoclaw.yaml\` in the workspace, as far as you trust it (below);
4. environment variables;
5. flags.

\`--config FILE\` is read instead of 2 and 3. \`picoclaw config show\` prints every key with its value and where it comes
from; \`picoclaw config check\` reports mistakes. With an unknown key or a wrong value nothing runs: the error names the line and the most
similar key. Maps are merged, lists are replaced. For editors, \`src/config/schema.json\` is the same as a JSON Schema.

## Environment variables

A key's variable is \`PICOCLAW_\` and its path in capitals: \`worker.auto_commit\` is \`PICOCLAW_WORKER_AUTO_COMMIT\`,
\`providers.claude.model\` is \`PICOCLAW_PROVIDERS_CLAUDE_MODEL\`. An empty variable counts as unset. For a yes-or-no key write
\`true/false\`, \`1/0\`, \`yes/no\` or \`on/off\`; for a list, values separated by commas, or JSON; for a map, JSON; \`null\` is null. An unknown
\`PICOCLAW_…\` variable causes a warning that names the most similar one. One value cannot be set this way: \`security.local_only: false\` counts only in a
file. These names work as well:
`;

const SECRETS = `
PicoClaw also reads variables that other programs use, so \`picoclaw chat\`, \`doctor\` and \`serve\` find what you have already exported. They replace the
default; a file or a \`PICOCLAW_…\` variable that sets the same key wins over them:

| variable | means |
|---|---|
| \`OLLAMA_HOST\` | \`ollama.base_url\`; a host, \`host:port\` or a URL, as Ollama reads it |
| \`ANTHROPIC_BASE_URL\` | \`providers.claude.base_url\` |
| \`OPENAI_BASE_URL\` | \`providers.openai.base_url\`; a server other than OpenAI's gets \`type: openai-compatible\` and needs no key. Set its model with \`PICOCLAW_PROVIDERS_OPENAI_MODEL\` |
| \`OPENROUTER_API_KEY\` | a provider \`openrouter\` with the model \`anthropic/claude-sonnet-4.6\` |
| \`GITHUB_TOKEN\` | \`forges.github.token\`, where \`GITHUB_PERSONAL_ACCESS_TOKEN\` is not set |
| \`OPENAI_API_KEY\`, \`OPENAI_BASE_URL\`, \`GEMINI_API_KEY\`, \`DEEPSEEK_API_KEY\`, \`OPENROUTER_API_KEY\` | without \`ANTHROPIC_API_KEY\`, and if no file names a role or a provider: the first of these that is set decides which provider answers \`CODE\`. A \`PICOCLAW_…\` variable changes that only if it sets \`roles.default_coder\`, the provider of a coder, or the type, address or key of \`providers.claude\` |

PicoClaw keeps its own files in \`PICOCLAW_HOME\`. \`PICOCLAW_LOCALE\` (${LOCALES.map((one) => `\`${one}\``).join(" or ")}) wins over \`locale\`, which wins over
\`LC_ALL\`, \`LC_MESSAGES\` and \`LANG\`: \`ja*\` is Japanese, everything else English.

## Secrets

Do not write a secret into a file: write \`env:NAME\` and put the secret into that environment variable. A secret in a file is refused. \`env:NAME\` works
for every other single value, too.

## What a workspace's file may do

A \`picoclaw.yaml\` may come from a stranger's repository. Until you run \`picoclaw trust\` in that folder, it may set only what
grants no more power than your own configuration does; all other keys are ignored, and one warning names them.
Trust holds for that folder and that content: a changed file must be trusted again. The commands and skills of \`.picoclaw/\`, \`.agents/\` and \`.claude/\`, with the files beside a skill, are trusted along with it, also by their content: when one changes or is added,
all of them are off until you trust them again; the \`picoclaw.yaml\` stays trusted. \`picoclaw trust\` lists what it trusts. The column *untrusted* says which values count before that:

* **any**: every value.
* **add**: its entries are added to your own list; none of yours is removed.
* **lower**: only a value that is not above your own. **raise**: only one that is not below it.
* **no coders**: rules are added after your own, and a rule that sends a message to a coder (CODE, CODE1–3) is ignored: a
  stranger's repository could otherwise send what you say to a cloud model.
* a value: only this value, the stricter one.
* –: no value. That includes keys that only look harmless: a smaller \`worker.undo_quota\` would throw undo data away, \`tasks.label\`
  decides which issues become tasks, \`worker.transaction\` may turn undo off.

## Keys
`;

export function configurationReference(root: SchemaNode): string {
  const short = Object.entries(SHORT_VARIABLES).map(([name, key]) => `| \`${name}\` | \`${key}\` |`);
  const keys = knownKeys(root);
  const sections = [...new Set(keys.map((key) => key.path[0] ?? ""))];
  const single = sections.filter((name) => keys.some((key) => key.path.length === 1 && key.path[0] === name));
  return [
    INTRODUCTION,
    "| variable | key |\n|---|---|",
    ...short,
    SECRETS,
    ...table(keys.filter((key) => key.path.length === 1)),
    ...sections
      .filter(
        (name) => !single.includes(name) || keys.some((key) => key.path.length > 1 && key.path[0] === name),
      )
      .flatMap((name) => [
        "",
        `### ${name}`,
        "",
        ...table(keys.filter((key) => key.path[0] === name && key.path.length > 1)),
      ]),
    "",
  ].join("\n");
}

function table(keys: readonly KeyInfo[]): string[] {
  const rows = keys.map((key) => {
    const path = key.path.map((step) => (step === "*" ? "<name>" : step)).join(".");
    const cells = [
      `\`${path}\``,
      expectedOf(key.node),
      defaultOf(key),
      untrusted(key),
      key.node.description ?? "",
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| key | takes | default | untrusted | |", "|---|---|---|---|---|", ...rows];
}

function defaultOf({ node }: KeyInfo): string {
  const value = node.default;
  if (value === undefined) return "unset";
  if (node.size === true && typeof value === "number") return `\`${formatBytes(value).replace(" ", "")}\``;
  return `\`${JSON.stringify(value)}\``;
}

function untrusted({ path }: KeyInfo): string {
  const rule: PowerRule | undefined = HARMLESS[path.join(".")];
  if (rule === undefined) return "–";
  if (rule.rule === "only") return `\`${rule.value}\``;
  if (rule.rule === "local-routes") return "no coders";
  return rule.rule === "free" ? "any" : rule.rule;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const schema = generateJsonSchema();
  const written = { "schema.json": schema, "defaults.json": configSchema.parse({}) };
  for (const [name, value] of Object.entries(written))
    writeFileSync(join(root, "src/config", name), `${JSON.stringify(value, null, 2)}\n`);
  writeFileSync(join(root, "docs/configuration.md"), configurationReference(schema as SchemaNode));
  writeTextDoors(root, LOCALES);
}
