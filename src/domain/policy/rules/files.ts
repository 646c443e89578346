import type { ShellWord } from "../shell-script.ts";
import { type CommandRule, hasLong, hasShort, operandsOf, optionsOf } from "./command-rule.ts";

export const FILE_RULES: readonly CommandRule[] = [
  {
    id: "rm-rf",
    programs: ["rm"],
    matches: ({ args }) =>
      isRecursive(args) && (hasShort(optionsOf(args), "f") || hasLong(optionsOf(args), "force")),
    match: [
      "rm -rf build",
      "rm -fr build",
      "rm -r -f build",
      "rm -Rf build",
      "rm --recursive --force build",
      "rm --rec --fo build",
      "rm build -rf",
      "/bin/rm -vrf build",
      "ls | xargs rm -rf",
      "find . -name x -exec rm -rf {} +",
      "'rm' -r'f' x",
      'bash -c "rm -rf x"',
    ],
    notMatch: ["rm -f a.txt", "rm -r build", "rm -- -rf", "echo rm -rf x", "git log --grep 'rm -rf'"],
  },
  {
    id: "rm-wide",
    programs: ["rm"],
    matches: ({ args }) => isRecursive(args) && operandsOf(args).some(isWide),
    match: [
      "rm -r /",
      "rm -r ~",
      "rm -r .",
      "rm -r ../..",
      "rm -r *",
      "rm -r /*",
      "rm -r /workspace/project",
      "rm -r $HOME",
      'rm -R "$PWD"',
      "rm -r ./",
    ],
    notMatch: ["rm -r build", "rm -r ./build", "rm -r /workspace/tmp/x", "rm *.log", "rm -r /tmp/x"],
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
    match: [
      "find . -delete",
      "find / -name x -delete",
      "find build -type f -delete",
      "find ~ -name '*' -delete",
    ],
    notMatch: ["find . -name '*.pyc' -delete", "find src -iname x -type f -delete", "find . -name delete"],
  },
  {
    id: "chmod-777",
    programs: ["chmod"],
    matches: ({ args }) => {
      const mode = modeOf(args);
      return mode === null || modesIn(mode).some(opensToAll);
    },
    match: [
      "chmod 777 x",
      "chmod 0777 x",
      "chmod -R 777 .",
      "chmod a+rwx x",
      "chmod o+w x",
      "chmod ugo=rw x",
      "chmod u+x,o+w x",
      "chmod 666 x",
      "chmod $MODE x",
    ],
    notMatch: [
      "chmod +x x",
      "chmod 755 x",
      "chmod u+w x",
      "chmod -w x",
      "chmod o-w x",
      "chmod 644 777",
      "chmod +w x",
    ],
  },
  {
    id: "chmod-setuid",
    programs: ["chmod"],
    matches: ({ args }) =>
      modesIn(modeOf(args) ?? "").some((mode) => /^0*[2-7][0-7]{3}$|[+=][rwxXt]*s/.test(mode)),
    match: ["chmod u+s x", "chmod 4755 x", "chmod g+xs x", "chmod 2755 x", "chmod +s x"],
    notMatch: ["chmod 0755 x", "chmod 1755 x", "chmod u-s x"],
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
