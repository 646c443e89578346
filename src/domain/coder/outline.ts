/** A line that begins something a reader would look for. */
export interface Definition {
  /** From 1. */
  readonly line: number;
  readonly name: string;
  readonly indent: number;
}

const NAMED = [
  /^\s*(?:export\s+|default\s+|declare\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|abstract\s+|final\s+|async\s+|unsafe\s+|pub(?:\([^)]*\))?\s+)*(?:function\*?|class|interface|enum|struct|trait|impl|fn|def|module|record|namespace|object|protocol|macro_rules!)\s+([\w$]+)/,
  /^\s*(?:export\s+)?type\s+([\w$]+)/,
  /^func\s+(?:\([^)]*\)\s*)?(\w+)/,
  /^\s*(?:export\s+)?(?:const|let|var)\s+([\w$]+)(?:\s*:[^=]+)?\s*=\s*(?:async\s*)?(?:function|class\b|\(|[\w$]+\s*=>)/,
  /^(?:export\s+)?const\s+([\w$]+)/,
  /^\s*(?:module\.)?exports\.([\w$]+)\s*=/,
  /^\s*[\w$.]+\.([\w$]+)\s*=\s*(?:async\s*)?function/,
  /^\s*["']?([\w$]+)["']?\s*:\s*(?:async\s*)?function/,
  /^\s*(?:describe|suite|context|it|test|t\.test|specify)(?:\.\w+)*\s*\(\s*["'`](.{1,60}?)["'`]/,
  /^\s+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*\*?([\w$#]+)\s*\([^;]*\)\s*(?::[^{;]+)?\{\s*$/,
  /^(?:[\w<>[\],*&:]+\s+)+\**(\w+)\s*\([^;]*\)\s*\{?\s*$/,
  /^#{1,6}\s+(.{1,60})/,
];
const NO_NAMES = new Set([
  "if",
  "for",
  "while",
  "switch",
  "catch",
  "return",
  "else",
  "function",
  "do",
  "with",
]);

/** By light patterns, in the order of the file: what a reader would look for, not a parse. */
export function definitionsOf(lines: readonly string[]): Definition[] {
  const found: Definition[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.length > 400) continue;
    for (const pattern of NAMED) {
      const name = pattern.exec(line)?.[1];
      if (name === undefined) continue;
      if (!NO_NAMES.has(name)) found.push({ line: at + 1, name: name.trim(), indent: indentOf(line) });
      break;
    }
  }
  return found;
}

/** Columns before the first character; a blank line is deeper than any. */
function indentOf(line: string): number {
  const text = line.trimStart();
  if (text === "") return Number.POSITIVE_INFINITY;
  return line.slice(0, line.length - text.length).replaceAll("\t", "    ").length;
}

/** The last line of what a definition begins, by indentation; for a heading, the line before the next of its rank. */
export function endOf(lines: readonly string[], { line, indent }: Definition): number {
  const head = lines[line - 1] ?? "";
  const rank = /^(#{1,6})\s/.exec(head)?.[1]?.length;
  for (let at = line; at < lines.length; at++) {
    const text = lines[at] as string;
    if (rank !== undefined) {
      const other = /^(#{1,6})\s/.exec(text)?.[1]?.length;
      if (other !== undefined && other <= rank) return at;
      continue;
    }
    if (indentOf(text) > indent) continue;
    const closing = /^\s*[)\]}]/.test(text);
    // A signature over several lines closes before its body begins.
    if (closing && /[{(:]\s*$|=>\s*$/.test(text)) continue;
    // On the same depth without a bracket: the body had none, or its brace stands on a line of its own.
    if (!closing && /^\s*\{\s*$/.test(text)) continue;
    return closing || /^\s*end\b/.test(text) ? at + 1 : Math.max(line, lastFilled(lines, at));
  }
  return lines.length;
}

function lastFilled(lines: readonly string[], before: number): number {
  let at = before;
  while (at > 1 && (lines[at - 1] as string).trim() === "") at--;
  return at;
}
