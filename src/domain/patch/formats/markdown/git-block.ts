import type { PatchCommand } from "../../command.ts";
import { splitGitLines } from "./git-words.ts";

/**
 * The commands of a ```` ```git ```` block: `git add x`, `add x`, `commit -m "…"`, `reset …`, `checkout …`.
 *
 * One argument stands in `target` as it is. Several stand there for people to read, and exactly, as a JSON array,
 * in `metadata.args`. What git_operation cannot say keeps its name as the action, so that it fails as a command
 * and is seen to fail.
 */
export function gitBlock(body: string): PatchCommand[] {
  return splitGitLines(body).flatMap((line): PatchCommand[] => {
    if (line.kind === "shell") return [operation(line.text, [])];
    const [program, ...rest] = line.words;
    const [action = "git", ...args] = program === "git" ? rest : line.words;
    switch (action) {
      case "add":
        return add(args);
      case "commit":
        return commit(args);
      case "reset":
        return [operation("reset", args.length === 0 ? ["HEAD"] : args)];
      default:
        return [operation(action, args)];
    }
  });
}

function operation(action: string, args: readonly string[], content = ""): PatchCommand {
  return {
    type: "git_operation",
    action,
    target: args.length === 1 ? args[0]! : args.map(quoteWord).join(" "),
    content,
    ...(args.length > 1 && { metadata: { args: JSON.stringify(args) } }),
  };
}

/** One command a path. `-A` with paths is what git does anyway; other options keep the line together. */
function add(args: readonly string[]): PatchCommand[] {
  const dashes = args.indexOf("--");
  const before = dashes === -1 ? args : args.slice(0, dashes);
  const after =
    dashes === -1 ? [] : args.slice(dashes + 1).map((path) => (path.startsWith("-") ? `./${path}` : path));
  const options = before.filter((arg) => arg.startsWith("-"));
  const paths = [...before.filter((arg) => !arg.startsWith("-")), ...after];
  const all = options.every((option) => option === "-A" || option === "--all");
  if (paths.length > 0 && all) return paths.map((path) => operation("add", [path]));
  return [operation("add", [...options, ...paths])];
}

/** Message from `-m`, as often as given; `-a` becomes an `add -u` before. Other options are not ours to drop. */
function commit(args: readonly string[]): PatchCommand[] {
  const messages: string[] = [];
  let all = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const cluster = /^-([aqv]*)m(.*)$/s.exec(arg);
    if (arg === "--message" || (cluster !== null && cluster[2] === "")) {
      const message = args[at + 1];
      if (message === undefined) return [operation(`commit ${args.map(quoteWord).join(" ")}`, [])];
      messages.push(message);
      at += 1;
    } else if (cluster !== null) messages.push(cluster[2]!);
    else if (arg.startsWith("--message=")) messages.push(arg.slice("--message=".length));
    else if (!/^(-[aqv]+|--all|--quiet|--verbose)$/.test(arg))
      return [operation(`commit ${args.map(quoteWord).join(" ")}`, [])];
    all ||= cluster?.[1]?.includes("a") || arg === "--all" || /^-[aqv]*a[aqv]*$/.test(arg);
  }
  const command = operation("commit", [], messages.join("\n\n"));
  return all ? [operation("add", ["-u"]), command] : [command];
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./~^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
