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
  },
  {
    id: "tool-runs-programs",
    programs: ["tar", "sort", "sed", "awk", "gawk", "mawk", "mapfile", "readarray", "tree", "grep", "rg"],
    matches: (call) => RUNS[call.name]?.(call) ?? false,
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
