import { gitSubcommand } from "../shell-script.ts";
import { type Call, type CommandRule, hasExact, hasShort, operandsOf, optionsOf } from "./command-rule.ts";

const DOWNLOADERS = new Set(["curl", "wget"]);

/** Commands that send something out, or run something downloaded. */
export const OUTWARD_RULES: readonly CommandRule[] = [
  {
    id: "git-push",
    programs: ["git"],
    matches: ({ args }) =>
      ["push", "send-email", "send-pack", "request-pull"].includes(gitSubcommand(args) ?? ""),
  },
  {
    id: "publish",
    programs: ["npm", "yarn", "pnpm", "cargo", "gem", "composer", "dotnet", "twine", "poetry", "uv"],
    matches: ({ name, args }) => {
      const [first, second] = operandsOf(args).map((word) => word.value);
      if (name === "dotnet") return first === "nuget" && (second === "push" || second === "delete");
      if (name === "gem") return ["push", "yank", "owner", "signin"].includes(first ?? "");
      if (name === "yarn" && first === "npm") return second === "publish";
      return ["publish", "unpublish", "login", "adduser", "token", "yank", "owner"].includes(first ?? "");
    },
  },
  {
    id: "download-and-run",
    matches: (call) => readsProgramFromInput(call) && isFedByDownload(call),
  },
  {
    id: "curl-sends",
    programs: ["curl", "wget"],
    matches: ({ name, args }) => (name === "curl" ? curlSends(args) : wgetSends(args)),
  },
];

function readsProgramFromInput({ name, args }: Call): boolean {
  if (/^(?:(?:ba|da|a|k|z)?sh)$/.test(name)) {
    if (hasShort(optionsOf(args), "c")) return false;
    return operandsOf(args).length === 0 || hasShort(optionsOf(args), "s");
  }
  if (!/^(?:python[\d.]*|node|deno|bun|perl|ruby|php)$/.test(name)) return false;
  const first = args.find((word) => !/^-[^cme-]+$/.test(word.value ?? ""));
  return first === undefined || first.value === "-" || first.value === "/dev/stdin";
}

function isFedByDownload({ command, script }: Call): boolean {
  const seen = new Set<number>();
  const queue = command.input.kind === "pipe" ? [...command.input.from] : [];
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    if (seen.has(index)) continue;
    seen.add(index);
    const writer = script.commands[index];
    if (writer?.words.some((word) => DOWNLOADERS.has(word.value ?? ""))) return true;
    if (writer?.input.kind === "pipe") queue.push(...writer.input.from);
  }
  return false;
}

function curlSends(args: Call["args"]): boolean {
  const options = optionsOf(args);
  if (hasExact(options, "--config", "--unix-socket", "--abstract-unix-socket") || curlShort(args, "K"))
    return true;
  const method = methodOf(args, "--request", "X");
  if (method !== undefined && !/^(?:GET|HEAD|OPTIONS)$/i.test(method)) return true;
  if (curlShort(args, "FT") || hasExact(options, "--form", "--form-string", "--upload-file", "--json"))
    return true;
  const asQuery = curlShort(args, "G") || hasExact(options, "--get");
  const sends = curlShort(args, "d") || options.some((option) => /^--data(?:-\w+)?(?:=|$)/.test(option));
  return sends && !asQuery;
}

/** In a cluster of curl's, a letter that takes a value ends it: `-od` is the file `d`. */
function curlShort(args: Call["args"], letters: string): boolean {
  const takeValue = "AbcCDeEFhHKmoPQrtTuUwxXyYzd";
  return optionsOf(args).some((option) => {
    if (!/^-[^-]/.test(option)) return false;
    for (const letter of option.slice(1)) {
      if (letters.includes(letter)) return true;
      if (takeValue.includes(letter)) return false;
    }
    return false;
  });
}

/** The method asked for; an unknown one is the empty string. */
function methodOf(args: Call["args"], long: string, short: string): string | undefined {
  for (const [index, { value }] of args.entries()) {
    if (value === null) continue;
    if (value.startsWith(`${long}=`)) return value.slice(long.length + 1);
    const cluster = new RegExp(`^-[a-zA-Z]*${short}(.*)$`).exec(value);
    if (cluster?.[1]) return cluster[1];
    if (value === long || (cluster && !value.startsWith("--"))) return args[index + 1]?.value ?? "";
  }
  return undefined;
}

function wgetSends(args: Call["args"]): boolean {
  const options = optionsOf(args);
  return (
    options.some((option) => /^--(?:post-|body-|method|execute|use-askpass|config)/.test(option)) ||
    hasExact(options, "-e")
  );
}
