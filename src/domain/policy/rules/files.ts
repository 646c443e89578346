import type { ShellWord } from "../shell-script.ts";
import { type CommandRule, hasLong, hasShort, operandsOf, optionsOf } from "./command-rule.ts";

export const FILE_RULES: readonly CommandRule[] = [
  {
    id: "rm-rf",
    programs: ["rm"],
    matches: ({ args }) =>
      isRecursive(args) && (hasShort(optionsOf(args), "f") || hasLong(optionsOf(args), "force")),
  },
  {
    id: "rm-wide",
    programs: ["rm"],
    matches: ({ args }) => isRecursive(args) && operandsOf(args).some(isWide),
  },
  {
    id: "find-delete",
    programs: ["find"],
    matches: ({ args }) => {
      const at = args.findIndex((word) => word.value === "-delete");
      if (at < 0) return false;
      const before = args.slice(0, at);
      const starts = before.slice(
        0,
        indexOrEnd(before, (word) => /^[-(!]/.test(word.value ?? "")),
      );
      const named = before.some((word) => /^-i?(?:name|path|regex|wholename)$/.test(word.value ?? ""));
      return !named || starts.some((word) => isWide(word) && !/^\.\/?$/.test(word.text));
    },
  },
  {
    id: "chmod-777",
    programs: ["chmod"],
    matches: ({ args }) => {
      const mode = modeOf(args);
      return mode === null || modesIn(mode).some(opensToAll);
    },
  },
  {
    id: "chmod-setuid",
    programs: ["chmod"],
    matches: ({ args }) =>
      modesIn(modeOf(args) ?? "").some((mode) => /^0*[2-7][0-7]{3}$|[+=][rwxXt]*s/.test(mode)),
  },
];

function isRecursive(args: readonly ShellWord[]): boolean {
  return hasShort(optionsOf(args), "rR") || hasLong(optionsOf(args), "recursive");
}

/** The root, a home, the project itself, a folder above it, or everything here. */
function isWide({ text, value }: ShellWord): boolean {
  const plain = (value ?? text.replace(/["']/g, "")).replace(/\/+/g, "/");
  return (
    /^(?:\/|~|\.|\*|\$\{?(?:HOME|PWD|OLDPWD)\}?|(?:\.\.\/?)+|~\w*|\/workspace(?:\/project)?)\/?(?:\.?\*)?$/.test(
      plain,
    ) || /^\/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|srv|sys|usr|var)(?:\/|$)/.test(plain)
  );
}

/** The first word that is not an option (`-w` is a mode); null if it is unknown. */
function modeOf(args: readonly ShellWord[]): string | null {
  for (const { value } of args) {
    if (value === null) return null;
    if (!/^-(?:-|[Rcfv]+$)/.test(value)) return value;
  }
  return "";
}

function modesIn(mode: string): string[] {
  return mode.split(",");
}

/** Writable by all users: an octal mode whose last digit has 2, or `w` for others or all. */
function opensToAll(mode: string): boolean {
  if (/^[0-7]+$/.test(mode)) return (Number.parseInt(mode.at(-1) ?? "0", 8) & 2) !== 0;
  return /^[ugoa]*[oa][ugoa]*(?:[-+=][rwxXst]*)*[+=][rxXst]*w/.test(mode);
}

function indexOrEnd<T>(list: readonly T[], test: (one: T) => boolean): number {
  const at = list.findIndex(test);
  return at < 0 ? list.length : at;
}
