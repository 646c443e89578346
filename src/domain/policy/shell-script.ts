/** A script as policy sees it: every simple command at any depth, substitutions and here-documents included. */
export interface ShellScript {
  /** In the order in which they are written. */
  readonly commands: readonly ShellCommand[];
  readonly functions: readonly ShellFunction[];
  /** The parts that the shell that runs it would read differently. */
  readonly oddities: readonly ShellOddity[];
}

export interface ShellCommand {
  /** As it is written. */
  readonly text: string;
  /** The name and its arguments; none for a bare assignment or redirection. */
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirects: readonly ShellRedirect[];
  readonly input: ShellInput;
  /** The function whose body contains it. */
  readonly inFunction: string | null;
}

export interface ShellWord {
  readonly text: string;
  /** Null if it is known only when it runs: a variable, a pattern, a substitution. */
  readonly value: string | null;
}

export interface ShellAssignment {
  readonly name: string;
  readonly value: ShellWord;
}

export interface ShellRedirect {
  readonly operator: string;
  readonly target: ShellWord;
}

/** The source of standard input, as far as the script says. */
export type ShellInput =
  | { readonly kind: "inherited" }
  /** Indices of the commands that write into the pipe. */
  | { readonly kind: "pipe"; readonly from: readonly number[] }
  | { readonly kind: "file" }
  /** A here-document or here-string; null when it holds what is known only when it runs. */
  | { readonly kind: "document"; readonly text: string | null };

export interface ShellFunction {
  readonly name: string;
  /** Whether it is always defined, so that its name cannot mean a program. */
  readonly always: boolean;
}

export interface ShellOddity {
  readonly text: string;
  readonly kind: "bash-only" | "evaluates-data";
}

/** `sh` runs a command in an environment; `bash` runs the text inside `bash -c`. */
export type ShellDialect = "sh" | "bash";

export type ShellParse =
  | { readonly ok: true; readonly script: ShellScript }
  | {
      readonly ok: false;
      readonly code: "syntax" | "too-large" | "too-complex";
      /** The parser's message, in English, or which limit it was. */
      readonly message: string;
      readonly at: number;
    };

/** Never throws and ends in bounded time, for any text. */
export type ParseShell = (text: string, dialect: ShellDialect) => ShellParse;

/** Commands that no list needs to name, without those that run unseen text or change what a name means (alias, hash, fc …). */
export const BUILTINS: ReadonlySet<string> = new Set(
  (
    ": . [ [[ bg break builtin caller cd command continue declare dirs disown echo eval exec exit export false fg " +
    "getopts help jobs let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt " +
    "source test times trap true type typeset ulimit umask unalias unset wait"
  ).split(" "),
);

/** Builtins whose arguments are assignments. */
export const DECLARING: ReadonlySet<string> = new Set(["export", "declare", "typeset", "local", "readonly"]);

/** Programs that read a shell script. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "ash", "ksh", "zsh"]);

/** Folders whose programs are called by their plain name as well. */
const PROGRAM_FOLDERS =
  /^(?:\/usr(?:\/local)?)?\/s?bin\/|^(?:\.\/|\/workspace\/project\/)?(?:node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\//;

/** `/usr/bin/rm` is `rm`, `node_modules/.bin/jest` is `jest`; any other path stays what it is. */
export function programName(word: string): string {
  return word.replace(/\/{2,}/g, "/").replace(PROGRAM_FOLDERS, "");
}

/** The last component, for programs and files that are forbidden in every folder. */
export function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/** Options of git before its subcommand that take the next word. */
const WITH_VALUE = new Set("-C -c --git-dir --work-tree --namespace --exec-path --config-env".split(" "));

/** The words after a program's name from its subcommand on: for git without the options before it. */
export function fromSubcommand(program: string, args: readonly ShellWord[]): readonly ShellWord[] {
  if (program !== "git") return args;
  let at = 0;
  while (at < args.length) {
    const value = args[at]?.value;
    if (value === null || value === undefined || !value.startsWith("-")) break;
    at += WITH_VALUE.has(value) ? 2 : 1;
  }
  return args.slice(at);
}

export function gitSubcommand(args: readonly ShellWord[]): string | null {
  return fromSubcommand("git", args)[0]?.value ?? null;
}

/** A script that a command would run; null text when it cannot be seen. */
export interface InnerScript {
  readonly text: string | null;
  readonly dialect: ShellDialect | "same";
}

/** Null: it runs no script. `file`: it runs a file, which the allow list decides by the shell's name. */
export function innerScript(
  name: string,
  args: readonly ShellWord[],
  command: ShellCommand,
): InnerScript | "file" | null {
  if (SHELLS.has(name)) return shellScript(name, args, command);
  switch (name) {
    case "eval":
      return { text: args.some((word) => word.value === null) ? null : joinedWords(args), dialect: "same" };
    case "trap":
      return trapScript(args);
    case "source":
    case ".": {
      // A file of the project is like any program of it; output of a pipe or a descriptor is not.
      const file = args.find((word) => word.value !== "--")?.value ?? null;
      return file === null || /^\/(?:dev|proc)\//.test(file) ? { text: null, dialect: "same" } : null;
    }
    default:
      return null;
  }
}

function shellScript(name: string, args: readonly ShellWord[], command: ShellCommand): InnerScript | "file" {
  const dialect = name === "sh" || name === "dash" || name === "ash" ? "sh" : "bash";
  let takesScript = false;
  let readsInput = false;
  let at = 0;
  for (; at < args.length; at++) {
    const value = args[at]?.value;
    if (value === undefined || value === null || !/^[-+]/.test(value)) break;
    if (value === "--" || value === "-") {
      at++;
      break;
    }
    if (value.startsWith("--")) {
      if (/^--(?:rcfile|init-file)/.test(value)) return { text: null, dialect };
      continue;
    }
    if (value.startsWith("-")) {
      takesScript ||= value.includes("c");
      readsInput ||= value.includes("s");
    }
    if (/[oO]$/.test(value)) at++;
  }
  const operand = args[at];
  if (takesScript) return { text: operand?.value ?? null, dialect };
  if (operand && !readsInput) return "file";
  return { text: command.input.kind === "document" ? command.input.text : null, dialect };
}

function trapScript(args: readonly ShellWord[]): InnerScript | null {
  const first = args.find((word) => word.value !== "--");
  if (!first || args.length < 2 || first.value === "-" || first.value === "-p" || first.value === "-l")
    return null;
  return { text: first.value, dialect: "same" };
}

function joinedWords(words: readonly ShellWord[]): string {
  return words.map((word) => word.value).join(" ");
}

/** A command that a program runs in its turn, by its arguments. */
export type WrappedCommand =
  /** Another program with its arguments. */
  | {
      readonly kind: "words";
      readonly words: readonly ShellWord[];
      readonly assignments?: readonly ShellAssignment[];
    }
  /** A script; null when it cannot be seen. */
  | { readonly kind: "script"; readonly text: string | null };

/** Programs that run the command behind their options, with the options that take the next word. */
const WRAPPERS: Readonly<Record<string, { readonly valued: string; readonly skip?: number }>> = {
  nohup: { valued: "" },
  setsid: { valued: "" },
  nice: { valued: "-n --adjustment" },
  ionice: { valued: "-c -n -p --class --classdata" },
  stdbuf: { valued: "-i -o -e --input --output --error" },
  time: { valued: "-f -o --format --output" },
  timeout: { valued: "-s -k --signal --kill-after", skip: 1 },
  command: { valued: "" },
  builtin: { valued: "" },
  exec: { valued: "-a" },
};

const XARGS_VALUED =
  "-I -L -n -P -s -d -E -a --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --process-slot-var";
const FIND_RUNS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** A word that is only known when it runs. */
const UNKNOWN: ShellWord = { text: "…", value: null };

/** Null: it runs nothing but itself. An empty list: it was given nothing to run. */
export function unwrapCommand(name: string, args: readonly ShellWord[]): readonly WrappedCommand[] | null {
  if (name === "env") return unwrapEnv(args);
  if (name === "xargs") return unwrapXargs(args);
  if (name === "find") return unwrapFind(args);
  if (name === "command" && /^-[vV]$/.test(args[0]?.value ?? "")) return [];
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
  if (!wrapper) return null;
  const rest = afterOptions(args, wrapper.valued.split(" ")).slice(wrapper.skip ?? 0);
  return rest.length === 0 ? [] : [{ kind: "words", words: rest }];
}

function afterOptions(args: readonly ShellWord[], valued: readonly string[]): readonly ShellWord[] {
  let at = 0;
  while (at < args.length) {
    const value = args[at]?.value ?? "";
    if (value === "--") return args.slice(at + 1);
    if (!/^-./.test(value)) break;
    at += valued.includes(value) ? 2 : 1;
  }
  return args.slice(at);
}

function unwrapEnv(args: readonly ShellWord[]): readonly WrappedCommand[] {
  const split = args.findIndex((word) => /^(?:-[^-]*S|--split-string)/.test(word.value ?? ""));
  if (split >= 0) {
    const value = args[split]?.value ?? "";
    const attached = /^(?:-[^-]*?S|--split-string=)(.+)$/s.exec(value)?.[1];
    const script = attached ?? args[split + 1]?.value ?? null;
    // The words that follow are appended to the words of the string.
    return [{ kind: "script", text: script === null ? null : `env ${script}` }];
  }
  let rest = afterOptions(args, ["-u", "-C", "--unset", "--chdir"]);
  if (rest[0]?.value === "-") rest = rest.slice(1);
  const assignments: ShellAssignment[] = [];
  for (const word of rest) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word.text) ?? [];
    if (name === undefined) break;
    assignments.push({ name, value: { text: value ?? "", value: word.value } });
  }
  return [{ kind: "words", words: rest.slice(assignments.length), assignments }];
}

function unwrapXargs(args: readonly ShellWord[]): readonly WrappedCommand[] {
  const inner = afterOptions(args, XARGS_VALUED.split(" "));
  if (inner.length === 0) return [];
  const options = args.slice(0, args.length - inner.length).map((word) => word.value ?? "");
  const at = options.findIndex((option) => /^-(?:I|i)|^--replace/.test(option));
  if (at < 0) return [{ kind: "words", words: [...inner, UNKNOWN] }];
  const option = options[at] ?? "";
  const mark =
    option === "-I" ? (options[at + 1] ?? "{}") : option.replace(/^-[Ii]|^--replace=?/, "") || "{}";
  return [{ kind: "words", words: inner.map((word) => hideReplacement(word, mark)) }];
}

function unwrapFind(args: readonly ShellWord[]): readonly WrappedCommand[] | null {
  const found: WrappedCommand[] = [];
  for (let at = 0; at < args.length; at++) {
    if (!FIND_RUNS.has(args[at]?.value ?? "")) continue;
    const words: ShellWord[] = [];
    for (at++; at < args.length; at++) {
      const value = args[at]?.value;
      if (value === ";" || (value === "+" && words.at(-1)?.text === "{}")) break;
      words.push(args[at] ?? UNKNOWN);
    }
    found.push({ kind: "words", words: words.map((word) => hideReplacement(word, "{}")) });
  }
  return found.length === 0 ? null : found;
}

function hideReplacement(word: ShellWord, mark: string): ShellWord {
  return word.text.includes(mark) ? { text: word.text, value: null } : word;
}
