import type { ShellWord } from "./commands-shell-script.ts";

/** Options of git before its subcommand that take the next word. */
const WITH_VALUE = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--exec-path",
  "--config-env",
]);

/** The words after a program's name from its subcommand on: for git without the options that stand before it. */
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
