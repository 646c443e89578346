import type { PatchCommand } from "../../patch-command.ts";
import { lineEnd } from "../embedded-format.ts";

/** A ```` ```bash ```` block is one command. Undefined when there is nothing in it. */
export function shellBlock(body: string, shell: "sh" | "zsh" | undefined): PatchCommand | undefined {
  const script = body.replaceAll("\r\n", "\n").trim();
  if (script === "") return undefined;
  return {
    type: "shell_command",
    action: "run",
    target: script,
    content: "",
    ...(shell !== undefined && { shell }),
  };
}

/** The text after `$ ` was typed, with the lines it continues on after a `\`; the rest is output. All of it is one command. */
export function consoleBlock(body: string): PatchCommand | undefined {
  const typed: string[] = [];
  let continues = false;
  for (let from = 0; from < body.length; ) {
    const newline = body.indexOf("\n", from);
    const end = newline === -1 ? body.length : newline;
    const line = body.slice(from, body.charAt(end - 1) === "\r" && end > from ? end - 1 : end);
    from = end + 1;
    if (continues) typed.push(line.startsWith("> ") ? line.slice(2) : line);
    else if (line.startsWith("$ ")) typed.push(line.slice(2));
    else continue;
    continues = endsWithContinuation(line);
  }
  return shellBlock(typed.join("\n"), undefined);
}

function endsWithContinuation(line: string): boolean {
  let backslashes = 0;
  while (line.charAt(line.length - 1 - backslashes) === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/**
 * The commands of a ```` ```git ```` block: `git add x`, `add x`, `commit -m "…"`, `reset …`, `checkout …`.
 *
 * One argument is in `target` as it is. Several are there for people to read, and exactly, as a JSON array,
 * in `metadata.args`. A command that git_operation cannot express keeps its name as the action, so that it
 * visibly fails as a command.
 */
export function gitBlock(body: string): PatchCommand[] {
  return splitGitLines(body).flatMap((line): PatchCommand[] => {
    if (line.kind === "shell") return [gitOperation(line.text, [])];
    const [program, ...rest] = line.words;
    const [action = "git", ...args] = program === "git" ? rest : line.words;
    switch (action) {
      case "add":
        return addOperations(args);
      case "commit":
        return commitOperations(args);
      case "reset":
        return [gitOperation("reset", args.length === 0 ? ["HEAD"] : args)];
      default:
        return [gitOperation(action, args)];
    }
  });
}

function gitOperation(action: string, args: readonly string[], content = ""): PatchCommand {
  return {
    type: "git_operation",
    action,
    target: args.length === 1 ? args[0]! : args.map(quoteWord).join(" "),
    content,
    ...(args.length > 1 && { metadata: { args: JSON.stringify(args) } }),
  };
}

/** One command a path. `-A` with paths is what git does anyway; other options keep the line together. */
function addOperations(args: readonly string[]): PatchCommand[] {
  const dashes = args.indexOf("--");
  const before = dashes === -1 ? args : args.slice(0, dashes);
  const after =
    dashes === -1 ? [] : args.slice(dashes + 1).map((path) => (path.startsWith("-") ? `./${path}` : path));
  const options = before.filter((arg) => arg.startsWith("-"));
  const paths = [...before.filter((arg) => !arg.startsWith("-")), ...after];
  const all = options.every((option) => option === "-A" || option === "--all");
  if (paths.length > 0 && all) return paths.map((path) => gitOperation("add", [path]));
  return [gitOperation("add", [...options, ...paths])];
}

/** Message from `-m`, as often as given; `-a` becomes an `add -u` before. Other options are not ours to drop. */
function commitOperations(args: readonly string[]): PatchCommand[] {
  const messages: string[] = [];
  let all = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const cluster = /^-([aqv]*)m(.*)$/s.exec(arg);
    if (arg === "--message" || (cluster !== null && cluster[2] === "")) {
      const message = args[at + 1];
      if (message === undefined) return [gitOperation(`commit ${args.map(quoteWord).join(" ")}`, [])];
      messages.push(message);
      at += 1;
    } else if (cluster !== null) messages.push(cluster[2]!);
    else if (arg.startsWith("--message=")) messages.push(arg.slice("--message=".length));
    else if (!/^(-[aqv]+|--all|--quiet|--verbose)$/.test(arg))
      return [gitOperation(`commit ${args.map(quoteWord).join(" ")}`, [])];
    all ||= cluster?.[1]?.includes("a") || arg === "--all" || /^-[aqv]*a[aqv]*$/.test(arg);
  }
  const command = gitOperation("commit", [], messages.join("\n\n"));
  return all ? [gitOperation("add", ["-u"]), command] : [command];
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./~^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** One command line of a ```` ```git ```` block: its words, or its text when it needs a real shell. */
type GitLine =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "shell"; readonly text: string };

const LONGEST_BLOCK = 1_000_000;

/** Splits into commands as a POSIX shell does, without expanding: a line that needs a real shell is `shell`. */
function splitGitLines(text: string): GitLine[] {
  if (text.length > LONGEST_BLOCK) return [{ kind: "shell", text: `${text.slice(0, 60).trim()}…` }];
  const lines: GitLine[] = [];
  let at = 0;
  while (at < text.length) {
    const read = readLine(text, at);
    if (read.line !== undefined) lines.push(read.line);
    at = read.next;
  }
  return lines;
}

function readLine(text: string, from: number): { line: GitLine | undefined; next: number } {
  const words: string[] = [];
  let word: string | undefined;
  let needsShell = false;
  let at = from;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  scan: for (; at < text.length; at++) {
    const char = text.charAt(at);
    switch (char) {
      case "\n":
      case ";":
        break scan;
      case "\r":
        if (text.charAt(at + 1) !== "\n") word = (word ?? "") + char;
        break;
      case " ":
      case "\t":
        endWord();
        break;
      case "\\": {
        const next = text.startsWith("\r\n", at + 1) ? "\r\n" : text.charAt(at + 1);
        if (next !== "\n" && next !== "\r\n") word = (word ?? "") + next;
        at += next.length;
        break;
      }
      case "'":
      case '"': {
        const quoted = char === "'" ? singleQuoted(text, at) : doubleQuoted(text, at);
        word = (word ?? "") + quoted.inside;
        needsShell ||= quoted.needsShell;
        at = quoted.end;
        break;
      }
      case "#":
        if (word !== undefined) word += char;
        else at = lineEnd(text, at) - 1;
        break;
      case "&":
        if (text.charAt(at + 1) === "&") {
          at += 1;
          break scan;
        }
        needsShell = true;
        break;
      case "$":
        // `$ ` at the start is a prompt.
        if (words.length === 0 && word === undefined && text.charAt(at + 1) === " ") break;
        needsShell = true;
        break;
      case "`":
      case "|":
      case ">":
      case "<":
      case "(":
      case ")":
        needsShell = true;
        break;
      default:
        word = (word ?? "") + char;
    }
  }
  endWord();
  const next = at + 1;
  if (needsShell) return { line: { kind: "shell", text: text.slice(from, at).trim() }, next };
  return { line: words.length === 0 ? undefined : { kind: "words", words }, next };
}

interface QuotedText {
  readonly inside: string;
  /** Offset of the closing quote. */
  readonly end: number;
  readonly needsShell: boolean;
}

function singleQuoted(text: string, at: number): QuotedText {
  const end = text.indexOf("'", at + 1);
  if (end === -1) return { inside: "", end: text.length, needsShell: true };
  return { inside: text.slice(at + 1, end), end, needsShell: false };
}

function doubleQuoted(text: string, from: number): QuotedText {
  const parts: string[] = [];
  let needsShell = false;
  let start = from + 1;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') return { inside: parts.join("") + text.slice(start, at), end: at, needsShell };
    if (char === "$" || char === "`") needsShell = true;
    if (char !== "\\") continue;
    const next = text.charAt(at + 1);
    if (next !== "" && '"\\$`\n'.includes(next)) {
      parts.push(text.slice(start, at), next === "\n" ? "" : next);
      start = at + 2;
    }
    at += 1;
  }
  return { inside: "", end: text.length, needsShell: true };
}
