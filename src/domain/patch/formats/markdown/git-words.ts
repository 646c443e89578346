/** One command line of a ```` ```git ```` block: its words, or its text when it needs a real shell. */
export type GitLine =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "shell"; readonly text: string };

const LONGEST_BLOCK = 1_000_000;

/**
 * Splits text into command lines the way a POSIX shell does: quotes, `\`, comments; a line end, `;` or `&&` ends
 * a command. Nothing is expanded: a line with `$`, a back-tick, a pipe, a redirection or an open quote is `shell`.
 */
export function splitGitLines(text: string): GitLine[] {
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
        else at = endOfLine(text, at) - 1;
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

interface Quoted {
  readonly inside: string;
  /** Offset of the closing quote. */
  readonly end: number;
  readonly needsShell: boolean;
}

function singleQuoted(text: string, at: number): Quoted {
  const end = text.indexOf("'", at + 1);
  if (end === -1) return { inside: "", end: text.length, needsShell: true };
  return { inside: text.slice(at + 1, end), end, needsShell: false };
}

function doubleQuoted(text: string, from: number): Quoted {
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

function endOfLine(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  return newline === -1 ? text.length : newline;
}
