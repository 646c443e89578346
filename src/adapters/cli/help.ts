import { nearestName } from "../../domain/platform/nearest.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { type HelpMessages, helpMessagesFor } from "../../domain/texts/cli.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { COMMON, type CommandLine, refuseUsage, type Subcommand } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { wrapWords } from "./terminal-text.ts";

type Described = Pick<CommandLine, "name" | "usage">;
type AllCommands = () => Promise<readonly CommandLine[]>;
type Reader = Pick<CliProgram, "locale" | "columns">;

const GROUPS: readonly (readonly [title: keyof HelpMessages["groups"], names: readonly string[]])[] = [
  ["begin", ["init", "login", "demo", "doctor"]],
  ["ask", ["chat", "solve", "run"]],
  [
    "changes",
    [
      "apply",
      "discard",
      "undo",
      "redo",
      "jobs",
      "show",
      "diff",
      "why",
      "checks",
      "bisect",
      "compare",
      "stop",
      "ps",
    ],
  ],
  ["serve", ["serve", "join", "fleet", "pair", "mcp", "acp"]],
  ["tools", ["tool", "tools", "env", "images"]],
];

/** Commands grouped by purpose; a command in none of the groups is listed last. */
function inGroups<T extends Described>(all: readonly T[]) {
  const known = new Set<string>(GROUPS.flatMap(([, names]) => names));
  return [
    ...GROUPS.map(([title, names]) => ({
      title,
      members: names.flatMap((name) => all.filter((one) => one.name === name)),
    })),
    { title: "rest" as const, members: all.filter(({ name }) => !known.has(name)) },
  ];
}

const LEFT = 22;

export function help({ locale, columns }: Reader, listed: readonly Described[]): string {
  const { usage, commands, common, version, exitCodes, groups } = helpMessagesFor(locale);
  const width = columns();
  return `${[
    usage,
    ...inGroups(listed).flatMap(({ title, members }) => [
      "",
      `${groups[title]}:`,
      ...members.map((one) => row(one.usage, commands[one.name].does, width)),
    ]),
    "",
    ...flagRows(common, width),
    row("--version", version, width),
    "",
    wrapWords(exitCodes, width),
  ].join("\n")}\n`;
}

export function commandHelp({ locale, columns }: Reader, { name, usage }: Described): string {
  const { commands, common } = helpMessagesFor(locale);
  const { does, ...flags } = commands[name];
  const rows = flagRows({ ...flags, ...common }, columns());
  return `${[`picoclaw ${usage}`, wrapWords(`  ${does}`, columns(), "  "), "", ...rows].join("\n")}\n`;
}

export function unknownCommand({ locale }: Reader, name: string, known: readonly string[]): string {
  const messages = messagesFor(locale);
  const { help: first, helpMore } = chatMessagesFor(locale);
  const inChat = [...first, ...helpMore].flatMap(([line]) => line.match(/(?<=\/)[a-z]+/g) ?? []);
  const near = nearestName(name, [...known, ...inChat]) ?? null;
  const call = near === null || known.includes(near) ? near : `picoclaw chat /${near}`;
  return `${messages.unknownCommand(name, call)}\n${messages.allCommands}`;
}

function flagRows(flags: Readonly<Record<string, string>>, columns: number): string[] {
  return Object.entries(flags).map(([flag, does]) => row(flag, does, columns));
}

function row(left: string, right: string, columns: number): string {
  const indent = " ".repeat(LEFT + 2);
  if (left.length < LEFT) return wrapWords(`  ${left.padEnd(LEFT)}${right}`, columns, indent);
  return `  ${left}\n${wrapWords(`${indent}${right}`, columns, indent)}`;
}

/** `man`: the manual page, for `man -l -` and for packages. Made of the same texts as the help. */
export const manOf = (all: AllCommands): Subcommand => ({
  name: "man",
  usage: "man",
  async run(program) {
    const page = manPage(program, await all());
    program.out(program.json ? `${JSON.stringify({ page })}\n` : page);
    return EXIT.done;
  },
});

function manPage({ locale, version }: CliProgram, all: readonly CommandLine[]): string {
  const { commands, common, groups, exitCodes, man } = helpMessagesFor(locale);
  const entry = (flag: string, does: string) => [".TP", `.B ${escaped(flag)}`, escaped(does)];
  return `${[
    `.TH PICOCLAW 1 "" "PicoClaw ${version}"`,
    `.SH ${man.name}`,
    `picoclaw \\- ${escaped(man.purpose)}`,
    `.SH ${man.synopsis}`,
    ".B picoclaw",
    escaped(man.usage),
    ...inGroups(all).flatMap(({ title, members }) => [
      `.SH ${escaped(groups[title].toUpperCase())}`,
      ...members.flatMap(({ name, usage }) => {
        const { does, ...flags } = commands[name];
        const rows = Object.entries(flags).flatMap(([flag, text]) => entry(flag, text));
        return [`.SS picoclaw ${escaped(usage)}`, escaped(does), ...rows];
      }),
    ]),
    `.SH ${man.common}`,
    ...Object.entries(common).flatMap(([flag, does]) => entry(flag, does)),
    `.SH ${man.exit}`,
    escaped(exitCodes),
    `.SH ${man.files}`,
    escaped(man.filesText),
  ].join("\n")}\n`;
}

/** A backslash and a minus mean something to roff, and so does a point at the beginning of a line. */
function escaped(text: string): string {
  return text
    .replace(/\\/g, "\\e")
    .replace(/-/g, "\\-")
    .replace(/^([.'])/gm, "\\&$1");
}

/** An entry for shell completion: a command with its flags and first words. */
interface Completed {
  readonly name: string;
  readonly flags: readonly string[];
  readonly words: readonly string[];
}

const SHELLS = { bash, zsh, fish } as const;

/** `completion bash|zsh|fish`: a script for that shell, made of the commands there are. */
export const completionOf = (all: AllCommands): Subcommand => ({
  name: "completion",
  usage: "completion SHELL",
  words: 1,
  async run(program, { words }) {
    const [shell = ""] = words;
    if (!Object.hasOwn(SHELLS, shell))
      return refuseUsage(
        program,
        messagesFor(program.locale).usageLines("completion bash|zsh|fish", "completion"),
      );
    const script = SHELLS[shell as keyof typeof SHELLS]((await all()).map(completed));
    program.out(program.json ? `${JSON.stringify({ shell, script })}\n` : script);
    return EXIT.done;
  },
});

function completed({ name, usage, flags }: CommandLine): Completed {
  // `config show|check` and `serve [link|token …]` name their first words.
  const named = name === "completion" ? Object.keys(SHELLS).join("|") : usage;
  const words = named.match(/[a-z]+(?:\|[a-z]+)+/g)?.flatMap((one) => one.split("|")) ?? [];
  return { name, flags: `${flags ?? ""} ${COMMON}`.match(/--[\w-]+/g) ?? [], words };
}

/** The words that may follow each command, a case a line. */
const casesOf = (commands: readonly Completed[], offer: (known: string) => string): string =>
  commands
    .map(({ name, flags, words }) => `    ${name}) ${offer([...words, ...flags].join(" "))} ;;`)
    .join("\n");

function bash(commands: readonly Completed[]): string {
  return `# picoclaw completion bash > /etc/bash_completion.d/picoclaw, or: source <(picoclaw completion bash)
_picoclaw() {
  local word="\${COMP_WORDS[COMP_CWORD]}" known=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${["help", ...commands.map(({ name }) => name)].join(" ")} --help --version" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help) known="${commands.map(({ name }) => name).join(" ")}" ;;
${casesOf(commands, (known) => `known="${known}"`)}
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _picoclaw picoclaw
`;
}

function zsh(commands: readonly Completed[]): string {
  return `#compdef picoclaw
# picoclaw completion zsh > "\${fpath[1]}/_picoclaw", or: source <(picoclaw completion zsh)
_picoclaw() {
  if (( CURRENT == 2 )); then
    compadd -- ${["help", ...commands.map(({ name }) => name)].join(" ")} --help --version
    return
  fi
  case "\${words[2]}" in
    help) compadd -- ${commands.map(({ name }) => name).join(" ")} ;;
${casesOf(commands, (known) => `compadd -- ${known}`)}
  esac
  _files
}
compdef _picoclaw picoclaw
`;
}

function fish(commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => name);
  const lines = commands.flatMap(({ name, flags, words }) => [
    ...flags.map(
      (flag) => `complete -c picoclaw -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
    ),
    ...(words.length === 0
      ? []
      : [`complete -c picoclaw -n '__fish_seen_subcommand_from ${name}' -a '${words.join(" ")}'`]),
  ]);
  return `# picoclaw completion fish > ~/.config/fish/completions/picoclaw.fish
complete -c picoclaw -n __fish_use_subcommand -f -a '${["help", ...names].join(" ")}'
${lines.join("\n")}
`;
}
