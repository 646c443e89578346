import { fromSubcommand } from "../shell-script.ts";
import { type Call, type CommandRule, hasExact, hasLong, hasShort, optionsOf } from "./command-rule.ts";

/** Options by which a program that only reads or packs would run another. */
export const TOOL_RULES: readonly CommandRule[] = [
  {
    id: "git-runs-programs",
    programs: ["git"],
    matches: ({ args }) => {
      const before = args.slice(0, args.length - fromSubcommand("git", args).length);
      return (
        before.some((word) => /^(?:-c|--config-env|--exec-path=|--paginate$|-p$)/.test(word.value ?? "")) ||
        hasExact(
          optionsOf(args),
          "--ext-diff",
          "--textconv",
          "--open-files-in-pager",
          "--upload-pack",
          "--output",
        )
      );
    },
    match: [
      "git -c alias.x='!ls' x",
      "git -c core.pager=x log",
      "git --exec-path=/tmp status",
      "git diff --ext-diff",
      "git log --output=/tmp/x",
    ],
    notMatch: ["git status", "git -C src status", "git log -p", "git log --oneline -10", "git show -c HEAD"],
  },
  {
    id: "tool-runs-programs",
    programs: ["tar", "sort", "sed", "awk", "gawk", "mawk", "mapfile", "readarray", "tree", "grep", "rg"],
    matches: (call) => RUNS[call.name]?.(call) ?? false,
    match: [
      "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=sh x",
      "tar -xf a.tar --to-command=sh",
      "tar -I sh -xf a.tar",
      "tar --use-compress=sh -xf a.tar",
      "sort --compress-program=sh x",
      "sed '1e id' x",
      "sed 's/a/id/e' x",
      "sed -n -e p -e '$!{e' x",
      "awk 'BEGIN { system(\"id\") }'",
      "awk '{ print | \"sh\" }' x",
      "awk '{ \"id\" | getline x }'",
      "mapfile -C sh a",
      "rg --pre sh x",
      "rg --pre=./x x",
      "rg --hostname-bin ./x x",
    ],
    notMatch: [
      "tar -xzf archive.tar.gz",
      "tar -czf a.tgz src",
      "sed 's/old/new/g' file.txt",
      "sed -i 's/one/the/' a",
      "sed -n '1,20p' a",
      "sed -e '/delete/d' a",
      "sed 's|/e|/x|' a",
      "awk '{print $1}' file.txt",
      "awk -F'|' '{print $2}' a",
      "awk '/a|b/ { n++ } END { print n }' a",
      "awk '$1 || $2' a",
      "sort -u a",
      "rg -n pattern src",
    ],
  },
];

const RUNS: Readonly<Record<string, (call: Call) => boolean>> = {
  tar: ({ args }) => {
    const options = optionsOf(args);
    return (
      hasLong(
        options,
        "checkpoint-action",
        "to-command",
        "use-compress-program",
        "rsh-command",
        "info-script",
        "new-volume-script",
      ) || hasShort(options, "IF")
    );
  },
  sort: ({ args }) => hasLong(optionsOf(args), "compress-program"),
  sed: ({ args }) => args.some((word) => word.value !== null && sedExecutes(word.value)),
  awk: awkExecutes,
  gawk: awkExecutes,
  mawk: awkExecutes,
  rg: ({ args }) => hasExact(optionsOf(args), "--pre", "--hostname-bin"),
  mapfile: ({ args }) => hasShort(optionsOf(args), "C"),
  readarray: ({ args }) => hasShort(optionsOf(args), "C"),
};

/** GNU sed: the command `e` after an address, or the flag `e` of `s`. Read roughly; too strict rather than too loose. */
function sedExecutes(script: string): boolean {
  if (/^-[^-]|^--/.test(script)) return false;
  if (
    /(?:^|[;{}\n])\s*(?:[\d$]+|\/(?:[^/\\\n]|\\.)*\/[IM]*)?(?:\s*,\s*(?:[\d$+~]+|\/(?:[^/\\\n]|\\.)*\/[IM]*))?\s*!?\s*e(?:\s|$)/.test(
      script,
    )
  )
    return true;
  for (const start of script.matchAll(/s([^\w\s\\])/g)) {
    const separator = start[1] ?? "/";
    const rest = script.slice(start.index + 2);
    const parts = splitAt(rest, separator);
    if (parts.length >= 3 && /^[gpiIMm\d]*e/.test(parts[2] ?? "") && isCommandStart(script, start.index))
      return true;
  }
  return false;
}

function splitAt(text: string, separator: string): string[] {
  const parts = [""];
  for (let at = 0; at < text.length && parts.length < 3; at++) {
    const one = text[at] ?? "";
    if (one === "\\") parts[parts.length - 1] += one + (text[++at] ?? "");
    else if (one === separator) parts.push("");
    else parts[parts.length - 1] += one;
    if (parts.length === 3) return [...parts.slice(0, 2), text.slice(at + 1)];
  }
  return parts;
}

function isCommandStart(script: string, at: number): boolean {
  return /(?:^|[;{}\n\d$!/IM])\s*$/.test(script.slice(0, at));
}

function awkExecutes({ args }: Call): boolean {
  return args.some(
    ({ value }) => value !== null && /\bsystem\s*\(|\|&?\s*"|"\s*\|&?\s*getline|\|&?\s*getline/.test(value),
  );
}
