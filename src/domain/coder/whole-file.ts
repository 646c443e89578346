/**
 * Whether a block that is taken for a whole file really is one. In: the file as it is, and the block. Out: why the block
 * cannot be the whole file, or null. Invariant: only facts of both texts decide, and a fact counts only if the current file
 * passes it, so that a reader that does not know a language refuses nothing.
 */
import { definitionsOf } from "./file-excerpts.ts";

/** `ends`: it does not parse, or ends inside of something. `names`: top-level names of the file are missing in it. */
export type NotWhole =
  | { readonly because: "ends"; readonly names: readonly [] }
  | { readonly because: "names"; readonly names: readonly string[] };

interface WrittenFile {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** Nothing but the request says that the block is this file: a name of the file, or its syntax, must show it. */
  readonly isGuess?: boolean;
}

/** `spoken`: the request and the plan; a name that they contain may go. */
export function findNotWhole(
  { path, before, after, isGuess = false }: WrittenFile,
  spoken: string,
  parses: ParsesSource,
): NotWhole | null {
  const read = READERS.find(([end]) => end.test(path))?.[1] ?? (() => true);
  const isSound = (text: string) => parses(path, text) ?? read(text);
  if (!isSound(after) && (isGuess || isSound(before))) return { because: "ends", names: [] };
  const [had, has] = [topNames(path, before), new Set(topNames(path, after))];
  const missing = had.filter((name) => !has.has(name) && (isGuess || !isSpoken(name, spoken)));
  const isProved = had.length > 0 || (before.trim() === "" && (has.size > 0 || parses(path, after) === true));
  if (isGuess && !isProved) return { because: "ends", names: [] };
  return missing.length === 0 ? null : { because: "names", names: [...new Set(missing)] };
}

/** `MAX = 3` of Python, `MAX=3` of a shell, the keys of YAML and TOML, the tables of TOML. */
const TOP_LEVEL = /^(?:([A-Za-z_][\w.-]*)\s*(?::[^=]*)?(?:=(?!=)|:(?=\s|$))|\[([\w."-]+)\]\s*$)/;

function topNames(path: string, text: string): string[] {
  if (/\.json$/i.test(path)) return topKeys(text);
  const lines = text.split("\n");
  const defined = definitionsOf(lines, path)
    .filter(({ indent }) => indent === 0)
    .map(({ name }) => name);
  if (PROSE.test(path)) return defined;
  const assigned = lines.flatMap((line) => {
    const found = TOP_LEVEL.exec(line);
    return found === null ? [] : [(found[1] ?? found[2]) as string];
  });
  return [
    ...defined,
    ...assigned.filter((name) => !/^(?:default|case|else|try|finally|public|private)$/.test(name)),
  ];
}

const PROSE = /\.(?:md|mdx|markdown|rst|adoc|txt)$/i;

function topKeys(text: string): string[] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  } catch {
    return [];
  }
}

function isSpoken(name: string, spoken: string): boolean {
  const found = spoken.indexOf(name);
  if (found === -1 || !/^[\w$]+$/.test(name)) return found !== -1;
  return spoken.split(/[^\w$]+/).includes(name);
}

/** Whether a text parses as what its path says; null where nothing can tell. */
export type ParsesSource = (path: string, text: string) => boolean | null;

/** The beginnings of a line of Python at its left edge; any other such line is a sentence. */
const PY_LINE =
  /^(?:[#@)\]}"']|(?:import|def|class|async|if|elif|for|while|with|raise|assert|global|del)\b.|from \S+ import\b|(?:else|try|finally)\s*:|except\b|return\b|[\w.[\]"', ]+(?:[-+*/|&^%@]|\/\/|\*\*)?=[^=]|[\w.]+\()/;

/** Whether a text without any mark around it is the source of a file: it parses, defines something, and holds no sentence. */
export function isBareSource(path: string, text: string, parses: ParsesSource): boolean {
  if (/\.json$/i.test(path)) return parses(path, text) === true;
  if (topNames(path, text).length === 0) return false;
  if (/\.(?:[cm]?[jt]sx?|toml)$/i.test(path)) return parses(path, text) === true;
  if (!/\.pyi?$/i.test(path) || !isSoundPython(text)) return false;
  const strings = text.replace(/"""[\s\S]*?"""|'''[\s\S]*?'''/g, '""');
  return strings.split("\n").every((line) => /^(?:\s|$)/.test(line) || PY_LINE.test(line));
}

/** Without a parser, what a tokenizer refuses; any text of another language counts as sound. */
const READERS: readonly (readonly [RegExp, (text: string) => boolean])[] = [
  [/\.pyi?$/i, isSoundPython],
  [/\.(?:go|rs|java|kts?|c|h|cc|cpp|hpp|cs|swift|scala|dart|php|css|scss|less)$/i, isBalanced],
];

const CLOSES: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };
const C_TOKENS =
  /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|`[^`]*`|[()[\]{}]/g;

/** Brackets outside of strings and comments pair up. */
function isBalanced(text: string): boolean {
  return leavesOpen(text, C_TOKENS)?.length === 0;
}

/** The brackets that are open at the end; null if one closes that is not open. */
function leavesOpen(text: string, tokens: RegExp): string[] | null {
  const open: string[] = [];
  for (const [token] of text.matchAll(tokens)) {
    if ("([{".includes(token)) open.push(token);
    else if (token in CLOSES && open.pop() !== CLOSES[token]) return null;
  }
  return open;
}

const PY_TOKENS =
  /#[^\n]*|"""(?:\\[\s\S]|(?!""")[^\\])*"""|'''(?:\\[\s\S]|(?!''')[^\\])*'''|"""|'''|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|["']|[()[\]{}]/g;

/** What Python's own tokenizer refuses: open strings and brackets, an indented first line, a dedent to no known level, a colon without a body. */
function isSoundPython(text: string): boolean {
  const plain: string[] = [];
  let [depth, from] = [0, 0];
  const open: string[] = [];
  for (const match of text.matchAll(PY_TOKENS)) {
    const [token] = match;
    if (['"""', "'''", '"', "'"].includes(token)) return false;
    plain.push(text.slice(from, match.index));
    from = match.index + token.length;
    if ("([{".includes(token)) open.push(token);
    else if (token in CLOSES && open.pop() !== CLOSES[token]) return false;
    depth = open.length;
    // What is inside of brackets and strings is no line of its own.
    plain.push(
      token.startsWith("#") ? "" : /^["']/.test(token) ? "s" : depth > 0 || token in CLOSES ? "b" : token,
    );
    if (depth > 0) from = skipInside(text, from, plain);
  }
  plain.push(text.slice(from));
  return depth === 0 && isIndented(plain.join("").replaceAll("\\\n", " "));
}

/** Joins the lines up to the next token, which are inside of brackets. */
function skipInside(text: string, from: number, plain: string[]): number {
  PY_NEXT.lastIndex = from;
  const next = PY_NEXT.exec(text)?.index ?? text.length;
  plain.push(text.slice(from, next).replaceAll("\n", " "));
  return next;
}

const PY_NEXT = /#|"|'|[()[\]{}]/g;

function isIndented(code: string): boolean {
  const levels = [0];
  let opens = false;
  for (const line of code.split("\n")) {
    const text = line.trim();
    if (text === "") continue;
    const indent = (/^[ \t]*/.exec(line)?.[0] ?? "").replaceAll("\t", "        ").length;
    const level = levels.at(-1) ?? 0;
    if (opens !== indent > level) return false;
    if (indent > level) levels.push(indent);
    else while ((levels.at(-1) ?? 0) > indent) levels.pop();
    if (levels.at(-1) !== indent) return false;
    opens = text.endsWith(":");
  }
  return !opens;
}
