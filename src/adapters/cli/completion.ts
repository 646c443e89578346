import { type CommandLine, refuseUsage, type Subcommand } from "./command.ts";
import { COMMON, usageText } from "./flags.ts";
import { EXIT } from "./program.ts";

/** An entry for shell completion: a command with its flags and first words. */
interface Completed {
  readonly name: string;
  readonly flags: readonly string[];
  readonly words: readonly string[];
}

const SHELLS = { bash, zsh, fish } as const;

/** `completion bash|zsh|fish`: a script for that shell, made of the commands there are. */
export const commandWith = (all: () => Promise<readonly CommandLine[]>): Subcommand => ({
  name: "completion",
  usage: "completion SHELL",
  words: 1,
  async run(program, { words, json }) {
    const [shell = ""] = words;
    if (!Object.hasOwn(SHELLS, shell))
      return refuseUsage(
        program,
        json,
        usageText(program, { name: "completion", usage: "completion bash|zsh|fish" }),
      );
    const script = SHELLS[shell as keyof typeof SHELLS]((await all()).map(completed));
    program.out(json ? `${JSON.stringify({ shell, script })}\n` : script);
    return EXIT.done;
  },
});

function completed({ name, usage, flags }: CommandLine): Completed {
  // `config show|check` and `serve [link|token …]` name their first words.
  const named = name === "completion" ? Object.keys(SHELLS).join("|") : usage;
  const words = named.match(/[a-z]+(?:\|[a-z]+)+/g)?.flatMap((one) => one.split("|")) ?? [];
  return { name, flags: Object.keys({ ...flags, ...COMMON }).map((flag) => `--${flag}`), words };
}

function bash(commands: readonly Completed[]): string {
  const cases = commands.map(
    ({ name, flags, words }) => `    ${name}) known="${[...words, ...flags].join(" ")}" ;;`,
  );
  return `# picoclaw completion bash > /etc/bash_completion.d/picoclaw, or: source <(picoclaw completion bash)
_picoclaw() {
  local word="\${COMP_WORDS[COMP_CWORD]}" known=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${["help", ...commands.map(({ name }) => name)].join(" ")} --help --version" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help) known="${commands.map(({ name }) => name).join(" ")}" ;;
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _picoclaw picoclaw
`;
}

function zsh(commands: readonly Completed[]): string {
  const cases = commands.map(
    ({ name, flags, words }) => `    ${name}) compadd -- ${[...words, ...flags].join(" ")} ;;`,
  );
  return `#compdef picoclaw
# picoclaw completion zsh > "\${fpath[1]}/_picoclaw", or: source <(picoclaw completion zsh)
_picoclaw() {
  if (( CURRENT == 2 )); then
    compadd -- ${["help", ...commands.map(({ name }) => name)].join(" ")} --help --version
    return
  fi
  case "\${words[2]}" in
    help) compadd -- ${commands.map(({ name }) => name).join(" ")} ;;
${cases.join("\n")}
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
