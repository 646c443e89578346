import { fillHoles } from "../texts/format-text.ts";
import type { Locale } from "../texts/locale.ts";
import { commandMessages } from "../texts/policy.ts";
import { type CommandPolicy, startsWithWords } from "./allowed-commands.ts";
import type { Call, CommandRule, Refusal } from "./rules/command-rule.ts";
import { DENIED_NAMES } from "./rules/denied-names.ts";
import { FILE_RULES } from "./rules/files.ts";
import { OUTWARD_RULES } from "./rules/outward.ts";
import { SHELL_RULES } from "./rules/shell-state.ts";
import { TOOL_RULES } from "./rules/tools-that-run.ts";
import {
  BUILTINS,
  baseName,
  fromSubcommand,
  innerScript,
  type ParseShell,
  programName,
  type ShellCommand,
  type ShellDialect,
  type ShellScript,
  type ShellWord,
  unwrapCommand,
} from "./shell-script.ts";

/** Looked at in this order; the first that matches speaks. */
export const RULES: readonly CommandRule[] = [
  ...DENIED_NAMES,
  ...SHELL_RULES,
  ...OUTWARD_RULES,
  ...FILE_RULES,
  ...TOOL_RULES,
];

export type CommandDecision =
  /** The programs it would run, in order. */
  | { readonly allowed: true; readonly programs: readonly string[] }
  | { readonly allowed: false; readonly refusal: Refusal };

/** Wrappers and scripts in scripts. */
const MAX_DEPTH = 12;

interface Scene {
  readonly policy: CommandPolicy;
  readonly parse: ParseShell;
  readonly dialect: ShellDialect;
  readonly script: ShellScript;
  readonly functions: ReadonlySet<string>;
  readonly programs: string[];
  readonly depth: number;
}

/**
 * Whether a model may have this script run in a task's environment: each simple command in it, wrappers
 * taken off and inner scripts read, against the deny rules first, then against the allow list.
 *
 * Neither list is the boundary: `python -c`, `make` and any test can do what the container lets them. The lists keep a
 * model from blunders and tell it what to do instead; the container keeps it from the rest.
 */
export function decideCommand(text: string, policy: CommandPolicy, parse: ParseShell): CommandDecision {
  const programs: string[] = [];
  const refusal = decideScript(text, {
    policy,
    parse,
    dialect: "sh",
    programs,
    depth: 0,
    functions: new Set(),
  });
  return refusal ? { allowed: false, refusal } : { allowed: true, programs };
}

function decideScript(text: string, outer: Omit<Scene, "script">): Refusal | null {
  const parsed = outer.parse(text, outer.dialect);
  if (!parsed.ok) return { rule: parsed.code, command: text, detail: parsed.message };
  const { script } = parsed;
  const [odd] = script.oddities;
  if (odd) return { rule: odd.kind, command: odd.text };
  const functions = new Set([
    ...outer.functions,
    ...script.functions.filter((each) => each.always).map((each) => each.name),
  ]);
  const scene: Scene = { ...outer, script, functions };
  for (const command of script.commands) {
    const refusal = decideWords(command.words, command, scene);
    if (refusal) return refusal;
  }
  return null;
}

function decideWords(words: readonly ShellWord[], command: ShellCommand, scene: Scene): Refusal | null {
  const [first, ...args] = words;
  const refuse = (rule: Refusal["rule"], name?: string): Refusal => ({
    rule,
    command: command.text,
    ...(name === undefined ? {} : { name }),
  });
  if (scene.depth > MAX_DEPTH) return refuse("too-complex");
  if (first === undefined) return byRules({ name: "", args, command, script: scene.script }, refuse);
  if (first.value === null) return refuse("unknown-name", first.text);
  const written = first.value;
  const denied = byRules({ name: baseName(written), args, command, script: scene.script }, refuse);
  if (denied) return denied;

  const name = programName(written);
  const excluded = scene.policy.excluded.find((entry) => matchesEntry(entry, name, args));
  if (excluded !== undefined) return refuse("excluded", excluded);
  scene.programs.push(name);

  const inner = innerScript(name, args, command);
  if (inner !== null && inner !== "file") {
    if (inner.text === null) return refuse("unseen-script", name);
    const dialect = inner.dialect === "same" ? scene.dialect : inner.dialect;
    return decideScript(inner.text, { ...scene, dialect, depth: scene.depth + 1 });
  }
  const inside = unwrapCommand(name, args);
  for (const each of inside ?? []) {
    const deeper = { ...scene, depth: scene.depth + 1 };
    const refusal =
      each.kind === "words"
        ? decideWords(each.words, withAssignments(command, each.assignments ?? []), deeper)
        : each.text === null
          ? refuse("unseen-script", name)
          : decideScript(each.text, deeper);
    if (refusal) return refusal;
  }
  if (inside !== null && name !== "find") return null;
  if (BUILTINS.has(name) || scene.functions.has(name)) return null;
  const entries = scene.policy.categories.flatMap((category) => category.commands);
  if (entries.some((entry) => matchesEntry(entry, name, args))) return null;
  const nearest = fromSubcommand(name, args)[0];
  if (nearest?.value === null && entries.some((entry) => startsWithWords(entry, name)))
    return refuse("unknown-name", nearest.text);
  return refuse("not-allowed", shownName(name, args, entries));
}

function byRules(call: Call, refuse: (rule: Refusal["rule"], name?: string) => Refusal): Refusal | null {
  const rule = RULES.find(
    (each) => (each.programs === undefined || each.programs.includes(call.name)) && each.matches(call),
  );
  return rule ? refuse(rule.id, call.name) : null;
}

function withAssignments(command: ShellCommand, more: ShellCommand["assignments"]): ShellCommand {
  return more.length === 0 ? command : { ...command, assignments: [...command.assignments, ...more] };
}

/** `git status` matches `git -C x status -s`; `cargo` matches every call of cargo. */
function matchesEntry(entry: string, name: string, args: readonly ShellWord[]): boolean {
  const [program, ...rest] = entry.split(" ");
  if (program !== name) return false;
  const words = fromSubcommand(name, args);
  return rest.every((word, index) => words[index]?.value === word);
}

/** With its subcommand where the list speaks of subcommands. */
function shownName(name: string, args: readonly ShellWord[], entries: readonly string[]): string {
  const sub = fromSubcommand(name, args)[0]?.value;
  return sub && entries.some((entry) => entry.startsWith(`${name} `)) ? `${name} ${sub}` : name;
}

const SHOWN = 200;

/** Which rule, why, and what to do instead: for the model that proposed the command and for people. */
export function explainRefusal({ rule, command, ...facts }: Refusal, locale: Locale): string {
  const { refused, rules } = commandMessages(locale);
  const [reason, instead] = rules[rule].map((text) => fillHoles(text, facts));
  const [line = "", ...more] = command.trim().split("\n");
  const shown =
    [...line].length > SHOWN || more.length > 0 ? `${[...line].slice(0, SHOWN).join("")} …` : line;
  return `${refused} (${rule}): ${reason}\n  ${shown}\n${instead}`;
}
