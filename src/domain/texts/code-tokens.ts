/** A stretch of code, by how it is coloured. */
export interface CodeToken {
  readonly text: string;
  /** The last three are lines of a difference. */
  readonly kind: "plain" | "comment" | "string" | "number" | "keyword" | "place" | "added" | "removed";
}

/** Words that many languages reserve; a few too many mislead no reader. */
const KEYWORDS = new Set(
  `abstract as async await begin break case catch class const continue def default defer del do done echo elif else end enum esac except
  export extends extern false False fi final finally fn for from func function go goto if impl implements import in interface is lambda
  let match mod module mut namespace new nil None not null of or and override package pass private protected pub public raise readonly
  return select self static struct super switch then this throw throws trait true True try type typeof undefined union unless until use
  using val var void where while with yield`.split(/\s+/),
);

/** Files of data: their other words are names and sentences. */
const DATA = /^(?:ya?ml|toml|jsonc?|ini|conf|env|gitignore)$/;
const CONSTANTS = new Set(["true", "false", "null"]);

/** Strings have a longest length, so that quotes that never close are not searched to the end again and again. */
const tokensWith = (comment: string, opening: string, longest = 300) =>
  new RegExp(
    `(${comment})|(${opening})|("(?:\\\\.|[^"\\\\\\n]){0,300}"|'(?:\\\\.|[^'\\\\\\n]){0,${longest}}')|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`,
    "g",
  );
const SLASH = tokensWith("//[^\\n]*", "/\\*|`");
const HASH = tokensWith("(?<!\\S)#[^\\n]*", "\"\"\"|'''");
const DASH = tokensWith("--[^\\n]*", "/\\*");
/** An apostrophe is a letter in quotes, or names a lifetime. */
const RUST = tokensWith("//[^\\n]*", "/\\*", 1);

/** By the name of a language, or by how a file's name ends; any other is read like C. Null: sentences. */
const FAMILIES = new Map(
  [
    {
      pattern: HASH,
      names:
        "py python sh bash zsh fish shell console rb ruby yaml yml toml r perl pl make makefile dockerfile ex exs nix ini conf env gitignore",
    },
    { pattern: DASH, names: "sql lua hs haskell" },
    { pattern: RUST, names: "rs rust" },
    {
      pattern: null,
      names:
        "text txt plain md markdown rst adoc tex org po csv tsv log lock output license readme html xml svg",
    },
  ].flatMap(({ pattern, names }) => names.split(" ").map((name) => [name, pattern] as const)),
);
/** Longer code is read, not admired. */
const MOST_CHARACTERS = 20_000;

/**
 * Cuts code into tokens, in time linear in its length. Code that arrives line by line hands on `open`: how the comment or string
 * ends that is still open.
 */
export function readCode(
  code: string,
  language: string,
  open: string | null = null,
): { readonly tokens: readonly CodeToken[]; readonly open: string | null } {
  const name = /^[\w+#-]*/.exec(language.trim().toLowerCase())?.[0] ?? "";
  if (name === "diff" || name === "patch") return { tokens: readDifference(code), open: null };
  const known = FAMILIES.get(name);
  if (known === null || name === "" || code.length > MOST_CHARACTERS)
    return { tokens: [{ text: code, kind: "plain" }], open };
  const pattern = known ?? SLASH;
  const words = DATA.test(name) ? CONSTANTS : KEYWORDS;
  const tokens: CodeToken[] = [];
  let [at, waits] = [0, open];
  const take = (end: number, kind: CodeToken["kind"]) => {
    if (end > at) tokens.push({ text: code.slice(at, end), kind });
    at = end;
  };
  const takeUntil = (closing: string, from: number) => {
    const end = code.indexOf(closing, from);
    take(end < 0 ? code.length : end + closing.length, closing === "*/" ? "comment" : "string");
    waits = end < 0 ? closing : null;
  };
  if (waits !== null) takeUntil(waits, 0);
  for (let from = at; at < code.length; from = Math.max(at, from)) {
    pattern.lastIndex = from;
    const match = pattern.exec(code);
    if (match === null) break;
    from = pattern.lastIndex;
    const [text, comment, opening, string, number, word] = match;
    if (word !== undefined && !words.has(pattern === DASH ? word.toLowerCase() : word)) continue;
    take(match.index, "plain");
    if (opening !== undefined) takeUntil(opening === "/*" ? "*/" : opening, match.index + text.length);
    else take(from, comment ? "comment" : string ? "string" : number ? "number" : "keyword");
  }
  take(code.length, "plain");
  return { tokens, open: waits };
}

function readDifference(text: string): readonly CodeToken[] {
  return text.split(/(?<=\n)/).map((line) => {
    if (/^(?:\+\+\+ |--- |@@|diff |index )/.test(line)) return { text: line, kind: "place" };
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "plain";
    return { text: line, kind };
  });
}
