import type { ShellCommand, ShellScript, ShellWord } from "../shell-script.ts";

/** Which rule refused a command; each has a reason and an advice in the messages. */
export type RuleId =
  | "syntax"
  | "too-large"
  | "too-complex"
  | "bash-only"
  | "evaluates-data"
  | "unknown-name"
  | "unseen-script"
  | "not-allowed"
  | "excluded"
  | CommandRuleId;

/** The rules with a function of their own. */
export type CommandRuleId = ArgumentRuleId | NameRuleId;

/** The rules that deny by the program's name. */
export type NameRuleId =
  | "sudo"
  | "su"
  | "chown"
  | "mount"
  | "iptables"
  | "systemctl"
  | "kill"
  | "reboot"
  | "dd"
  | "mkfs"
  | "fdisk"
  | "nc"
  | "nmap"
  | "ssh"
  | "rsync";

type ArgumentRuleId =
  | "rm-rf"
  | "rm-wide"
  | "find-delete"
  | "chmod-777"
  | "chmod-setuid"
  | "git-push"
  | "git-runs-programs"
  | "publish"
  | "download-and-run"
  | "curl-sends"
  | "tool-runs-programs"
  | "redefines-name"
  | "sets-variable"
  | "writes-device"
  | "calls-itself";

/** One program with its arguments, wrappers such as `env` or `timeout` taken off. */
export interface Call {
  /** The name without a folder. */
  readonly name: string;
  readonly args: readonly ShellWord[];
  readonly command: ShellCommand;
  readonly script: ShellScript;
}

/** A rule about one program that a command runs; `test/domain/policy/commands/examples.ts` has its examples. */
export interface CommandRule {
  readonly id: CommandRuleId;
  /** The programs it looks at; absent: every one. */
  readonly programs?: readonly string[];
  matches(call: Call): boolean;
}

export interface Refusal {
  readonly rule: RuleId;
  /** The command as it is written, or the part of it that cannot be read. */
  readonly command: string;
  /** The name it was decided by, where there is one. */
  readonly name?: string;
  /** The parser's message, or which limit it was. */
  readonly detail?: string;
}

/** Words before `--` that are options, as far as they are known. */
export function optionsOf(args: readonly ShellWord[]): string[] {
  const end = args.findIndex((word) => word.value === "--");
  return (end < 0 ? args : args.slice(0, end))
    .map((word) => word.value)
    .filter((value): value is string => value !== null && /^-./.test(value));
}

/** Words that are not options. An unknown option counts as a word. */
export function operandsOf(args: readonly ShellWord[]): ShellWord[] {
  const end = args.findIndex((word) => word.value === "--");
  const before = end < 0 ? args : args.slice(0, end);
  const after = end < 0 ? [] : args.slice(end + 1);
  return [...before.filter((word) => !/^-./.test(word.value ?? "")), ...after];
}

/** `-r` alone or in a cluster (`-xrf`). */
export function hasShort(options: readonly string[], letters: string): boolean {
  return options.some(
    (option) => /^-[^-]/.test(option) && [...option.slice(1)].some((letter) => letters.includes(letter)),
  );
}

/** `--recursive`, also cut short (`--rec`) as GNU programs allow, also with `=value`. */
export function hasLong(options: readonly string[], ...names: readonly string[]): boolean {
  return options.some((option) => {
    const given = option.split("=", 1)[0] ?? "";
    return given.length > 2 && names.some((name) => `--${name}`.startsWith(given));
  });
}

/** Written out in full, for programs that take no shortened ones. */
export function hasExact(options: readonly string[], ...names: readonly string[]): boolean {
  return options.some((option) => names.some((name) => option === name || option.startsWith(`${name}=`)));
}
