import type { Call } from "./rules/command-rule.ts";
import { OUTWARD_RULES } from "./rules/outward.ts";
import {
  baseName,
  innerScript,
  type ParseShell,
  programName,
  type ShellCommand,
  type ShellDialect,
  type ShellScript,
  type ShellWord,
  unwrapCommand,
} from "./shell-script.ts";

/** A script without one of these words does not reach outward and need not be parsed. */
const MAY_REACH =
  /\b(?:push|publish|unpublish|yank|send-email|curl|wget|scp|sftp|rsync|ssh|gh|glab|deploy|upload|login|adduser|signin|token|owner|send-pack|request-pull|nuget)\b/;

const DEEPEST = 8;

export function mayReachOutward(text: string): boolean {
  return MAY_REACH.test(text);
}

/** Whether a script sends out what cannot be undone. One that cannot be read but mentions such an action counts as doing it. */
export function reachesOutward(text: string, parse: ParseShell): boolean {
  return mayReachOutward(text) && inScript(text, { parse, dialect: "bash", depth: 0 });
}

interface Scene {
  readonly parse: ParseShell;
  readonly dialect: ShellDialect;
  readonly depth: number;
}

function inScript(text: string, scene: Scene): boolean {
  if (scene.depth > DEEPEST) return true;
  const parsed = scene.parse(text, scene.dialect);
  if (!parsed.ok) return true;
  const { script } = parsed;
  return script.commands.some((command) => inWords(command.words, command, script, scene));
}

function inWords(
  words: readonly ShellWord[],
  command: ShellCommand,
  script: ShellScript,
  scene: Scene,
): boolean {
  const [first, ...args] = words;
  if (first === undefined || first.value === null || scene.depth > DEEPEST) return false;
  if (sendsOut({ name: baseName(first.value), args, command, script })) return true;
  const name = programName(first.value);
  const deeper = { ...scene, depth: scene.depth + 1 };
  const inner = innerScript(name, args, command);
  if (inner !== null && inner !== "file" && inner.text !== null) {
    const dialect = inner.dialect === "same" ? scene.dialect : inner.dialect;
    return inScript(inner.text, { ...deeper, dialect });
  }
  return (unwrapCommand(name, args) ?? []).some((each) =>
    each.kind === "words"
      ? inWords(each.words, command, script, deeper)
      : each.text !== null && inScript(each.text, deeper),
  );
}

function sendsOut(call: Call): boolean {
  const { name, args } = call;
  if (["scp", "sftp", "ssh", "rsync"].includes(name))
    return name !== "rsync" || args.some(({ value }) => value === null || /^[^/]*:/.test(value));
  const [first, second] = args.map(({ value }) => value);
  if (name === "gh" || name === "glab")
    return (
      ["create", "merge", "close", "comment", "edit", "delete", "upload"].includes(second ?? "") ||
      first === "api"
    );
  if (name === "docker" || name === "podman") return first === "push" || second === "push";
  return OUTWARD_RULES.some(
    ({ id, programs, matches }) =>
      id !== "download-and-run" && (programs === undefined || programs.includes(name)) && matches(call),
  );
}
