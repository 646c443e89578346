/** The built-in list, under the headings and in the order in which the prompt shows it. */
const DEFAULT_COMMANDS = {
  "Build/Package Management": [
    ..."npm yarn pnpm pip pip3 conda mamba python python3 cargo make cmake bundle gem composer dotnet".split(
      " ",
    ),
  ],
  "Test Execution": ["pytest", "jest", "mocha", "rspec", "phpunit", "cargo test", "dotnet test"],
  "Linter/Formatter": [..."eslint prettier black flake8 pylint mypy rubocop rustfmt clippy tsc".split(" ")],
  "File Operations": [..."ls cat head tail grep find wc diff tree file stat".split(" ")],
  "Version Control": ["git status", "git diff", "git log", "git branch", "git show", "git blame"],
  Utilities: [
    ..."echo pwd cd mkdir rm cp mv touch chmod env which curl wget tar unzip jq sed awk sort uniq xargs".split(
      " ",
    ),
  ],
} as const satisfies Record<string, readonly string[]>;

export interface AllowedCommandsSettings {
  readonly use_default: boolean;
  readonly additional: readonly string[];
  readonly exclude: readonly string[];
  readonly custom_list: readonly string[];
}

/** Entries are a name (`npm`), or a name with its first words (`git status`). */
export interface CommandPolicy {
  readonly categories: readonly CommandCategory[];
  /** Refused even if something else allows them. */
  readonly excluded: readonly string[];
}

interface CommandCategory {
  readonly title: string;
  readonly commands: readonly string[];
}

/** `exclude` beats `additional`: a repository's file may exclude, only a trusted one may add. `own`: an environment's, on its own line. */
export function createCommandPolicy(
  settings: AllowedCommandsSettings,
  own: readonly string[] = [],
): CommandPolicy {
  const excluded = tidy(settings.exclude);
  const base = settings.use_default
    ? Object.entries(DEFAULT_COMMANDS).map(([title, commands]) => ({ title, commands: [...commands] }))
    : [{ title: "Custom", commands: tidy(settings.custom_list) }];
  const known = new Set(base.flatMap((category) => category.commands));
  const additional = tidy(settings.additional).filter((entry) => !known.has(entry));
  const further = tidy(own).filter((entry) => !known.has(entry) && !additional.includes(entry));
  const categories = [
    ...base,
    { title: "Additional", commands: additional },
    { title: "This Environment", commands: further },
  ]
    .map(({ title, commands }) => ({
      title,
      commands: commands.filter((entry) => !excluded.some((out) => startsWithWords(entry, out))),
    }))
    .filter((category) => category.commands.length > 0);
  return { categories, excluded };
}

/** `ExecutionEnvironmentManager.getAllowedCommands`. */
export function allowedCommands(policy: CommandPolicy): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(policy.categories.map(({ title, commands }) => [title, commands]));
}

/** `getAllowedCommandsText`: the text for `{allowed_commands_list}`, a heading and its commands on each line. */
export function allowedCommandsText(policy: CommandPolicy): string {
  return policy.categories.map(({ title, commands }) => `${title}: ${commands.join(", ")}`).join("\n");
}

export function startsWithWords(entry: string, prefix: string): boolean {
  return entry === prefix || entry.startsWith(`${prefix} `);
}

function tidy(entries: readonly string[]): string[] {
  return [...new Set(entries.map((entry) => entry.trim().replace(/\s+/g, " ")))].filter(Boolean);
}

const ALLOWED_COMMANDS_MARK = "{allowed_commands_list}";

/** The template with the list in its place; a function, because `$&` in a list is not a pattern. */
export function fillExecutorPrompt(template: string, commandsText: string): string {
  return template.replaceAll(ALLOWED_COMMANDS_MARK, () => commandsText);
}
