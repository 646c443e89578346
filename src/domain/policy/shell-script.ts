import type { ShellAssignment, ShellWord } from "./commands-shell-script.ts";

/** What a program runs in its turn, by its arguments. */
export type WrappedCommand =
  /** Another program with its arguments. */
  | {
      readonly kind: "words";
      readonly words: readonly ShellWord[];
      readonly assignments?: readonly ShellAssignment[];
    }
  /** A script; null when it cannot be seen. */
  | { readonly kind: "script"; readonly text: string | null };

/** Programs that run what stands behind their options, with the options that take the next word. */
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
    const rest = attached === undefined ? args.slice(split + 1) : args.slice(split + 1);
    const script = attached ?? rest[0]?.value ?? null;
    // What follows is appended to the words of the string.
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
