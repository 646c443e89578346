import type { ShellCommand, ShellScript, ShellWord } from "../commands-shell-script.ts";

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
  | ArgumentRuleId
  | NameRuleId;

/** What is denied by the program's name. */
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

/** By arguments. */
export type ArgumentRuleId =
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

/** A rule carries its own examples; a test runs them all. */
export interface CommandRule {
  readonly id: RuleId;
  /** The programs it looks at; absent: every one. */
  readonly programs?: readonly string[];
  matches(call: Call): boolean;
  /** Scripts that this rule refuses, and scripts that it does not. */
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

export interface Refusal {
  readonly rule: RuleId;
  /** The command as it is written, or the part of it that cannot be read. */
  readonly command: string;
  /** The name it was decided by, where there is one. */
  readonly name?: string;
  /** What the parser said, or which limit it was. */
  readonly detail?: string;
}
