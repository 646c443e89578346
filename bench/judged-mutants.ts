/**
 * Mutants of a fix, made by syntax. In: a file's text with the fix, the lines that the fix added, and its language.
 * Out: texts that differ from it in one place of those lines: a condition turned, a call dropped, an index off, a branch removed.
 * Invariant: no place inside a string or a comment is touched, and the same input gives the same mutants on every machine.
 */
export type MutantKind = "condition turned" | "branch removed" | "call dropped" | "index off";

export interface Mutant {
  readonly kind: MutantKind;
  readonly line: number;
  readonly text: string;
}

type Family = "python" | "go" | "rust" | "c" | "script";

/** One replacement in a text; several make one mutant. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly with: string;
}

const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/\.pyi?$/, "python"],
  [/\.go$/, "go"],
  [/\.rs$/, "rust"],
  [/\.(?:[cm]?[jt]sx?)$/, "script"],
  [/\.(?:c|h|cc|cpp|hpp|java)$/, "c"],
];

/** All mutants of these lines (counted from 1), the kinds in turns. */
export function makeMutants(path: string, text: string, added: ReadonlySet<number>): Mutant[] {
  const family = FAMILIES.find(([pattern]) => pattern.test(path))?.[1];
  if (family === undefined) return [];
  const code = blankText(text, family);
  const found = new Map<MutantKind, Mutant[]>(MUTATIONS.map(([kind]) => [kind, []]));
  let start = 0;
  for (const [at, line] of code.split("\n").entries()) {
    if (added.has(at + 1) && line.trim() !== "")
      for (const [kind, mutate] of MUTATIONS)
        for (const edits of mutate({ code, line, start, family }))
          found.get(kind)?.push({ kind, line: at + 1, text: edit(text, edits) });
    start += line.length + 1;
  }
  const rounds = Math.max(...[...found.values()].map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) =>
    MUTATIONS.flatMap(([kind]) => found.get(kind)?.[round] ?? []),
  ).flat();
}

function edit(text: string, edits: readonly Edit[]): string {
  return edits
    .toReversed()
    .reduce((made, { from, to, with: by }) => made.slice(0, from) + by + made.slice(to), text);
}

/** Strings and comments, with their signs kept where a text begins and ends. A template's `${}` counts as string. */
const TEXTS: Readonly<Record<Family, RegExp>> = {
  python: /#[^\n]*|[rbfuRBFU]{0,2}("""|''')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
  go: /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])+'/g,
  // A quote alone is a lifetime.
  rust: /\/\/[^\n]*|\/\*[\s\S]*?\*\/|b?r(#*)"[\s\S]*?"\1|b?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\[^\n']+|[^'\\\n])'/g,
  c: /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'/g,
  script:
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|(?<=[=(,:!&|?;]\s*|return\s+)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g,
};

/** The text with each character of its strings and comments replaced: as long, with the same line ends. */
function blankText(text: string, family: Family): string {
  return text.replace(TEXTS[family], (part) => {
    const isComment = /^(?:\/\/|\/\*|#)/.test(part);
    return part.replace(/[^\n]/g, isComment ? " " : "_");
  });
}

interface Site {
  /** The whole file and its line, blanked. */
  readonly code: string;
  readonly line: string;
  readonly start: number;
  readonly family: Family;
}

interface Condition {
  readonly from: number;
  readonly to: number;
}

/** The condition that a line opens, which may end on a later line. Bindings such as `if let` have none. */
function conditionOf({ code, line, start, family }: Site): Condition | null {
  const opened = /^\s*(?:\}\s*)?(?:else\s+)?(if|elif|while)\b\s*/.exec(line);
  if (opened === null) return null;
  const from = start + opened[0].length;
  if (family === "c" || family === "script") {
    if (code[from] !== "(") return null;
    const to = closingAt(code, from);
    return to === -1 ? null : { from: from + 1, to };
  }
  const end = family === "python" ? ":" : "{";
  for (let [at, depth] = [from, 0]; at < code.length; at++) {
    const sign = code[at] ?? "";
    if (depth === 0 && sign === end) {
      const text = code.slice(from, at);
      if (family === "rust" && /\blet\b/.test(text)) return null;
      const statement = family === "go" ? text.lastIndexOf(";") + 1 : 0;
      const space = /^\s*/.exec(text.slice(statement))?.[0].length ?? 0;
      const condition = { from: from + statement + space, to: from + text.trimEnd().length };
      return condition.from < condition.to ? condition : null;
    }
    if ("([{".includes(sign)) depth += 1;
    if (")]}".includes(sign)) depth -= 1;
    if (depth < 0 || (sign === "\n" && depth === 0 && family === "python")) return null;
  }
  return null;
}

function closingAt(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if ("([{".includes(code[at] ?? "")) depth += 1;
    if (")]}".includes(code[at] ?? "")) depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

const OPPOSITES: readonly (readonly [RegExp, string])[] = [
  [/ === /, " !== "],
  [/ !== /, " === "],
  [/ == /, " != "],
  [/ != /, " == "],
  [/ <= /, " > "],
  [/ >= /, " < "],
  [/ < /, " >= "],
  [/ > /, " <= "],
  [/ && /, " || "],
  [/ \|\| /, " && "],
  [/ and /, " or "],
  [/ or /, " and "],
  [/ is not /, " is "],
  [/ not in /, " in "],
];

/** Each gives the mutants of one line, as the edits of each in the order of the text. */
const MUTATIONS: readonly (readonly [MutantKind, (site: Site) => Edit[][]])[] = [
  ["condition turned", turnCondition],
  ["call dropped", dropCall],
  ["branch removed", removeBranch],
  ["index off", moveIndex],
];

const putAround = ({ from, to }: Condition, before: string): Edit[] => [
  { from, to: from, with: before },
  { from: to, to, with: ")" },
];

function turnCondition(site: Site): Edit[][] {
  const { line, start, family } = site;
  const condition = conditionOf(site);
  if (condition !== null) return [putAround(condition, family === "python" ? "not (" : "!(")];
  if (/^\s*(?:import|use|from|#|template)\b/.test(line)) return [];
  for (const [sign, opposite] of OPPOSITES) {
    const found = sign.exec(line);
    if (found === null) continue;
    const from = start + found.index;
    return [[{ from, to: from + found[0].length, with: opposite }]];
  }
  return [];
}

function removeBranch(site: Site): Edit[][] {
  const condition = conditionOf(site);
  if (condition === null || /\bwhile\b/.test(site.line)) return [];
  return [putAround(condition, site.family === "python" ? "False and (" : "false && (")];
}

const NO_CALLS =
  /^(?:if|elif|while|for|switch|match|catch|return|assert|def|func|fn|function|class|super|new|throw|raise|import|sizeof)$/;

/** A call that is a statement is removed; one with a single argument, inside a longer expression, gives its argument. */
function dropCall({ code, line, start, family }: Site): Edit[][] {
  const statement = /^(\s*)(?:await\s+)?([A-Za-z_$][\w$.:]*!?)\(/.exec(line);
  if (statement !== null && !NO_CALLS.test(statement[2] ?? "")) {
    const close = closingAt(code, start + statement[0].length - 1);
    const end = close === -1 ? null : /^;?[ \t]*(?=\n(?!\s*\{)|$)/.exec(code.slice(close + 1));
    if (end !== null) {
      const from = start + (statement[1]?.length ?? 0);
      return [[{ from, to: close + 1 + end[0].length, with: family === "python" ? "pass" : "" }]];
    }
  }
  return [...line.matchAll(/(?<![\w$.])([A-Za-z_$][\w$.:]*)\(/g)].flatMap((call) => {
    const [from, name = ""] = [start + call.index, call[1]];
    const open = from + call[0].length - 1;
    const close = closingAt(code, open);
    const given = code.slice(open + 1, close);
    const before = code.slice(0, from).trimEnd();
    const isPlain = close !== -1 && given.trim() !== "" && !given.includes(",") && !given.includes("\n");
    const isDefined =
      /\b(?:def|func|fn|function|class|new)$/.test(before) || /^\s*(?:\{|:)/.test(code.slice(close + 1));
    if (!isPlain || isDefined || NO_CALLS.test(name)) return [];
    return [[{ from, to: open, with: "" }]];
  });
}

function moveIndex({ line, start }: Site): Edit[][] {
  const indexed = /(?<=[\w)\]])\[([\w.]+(?: ?[-+] ?\w+)?)\]/.exec(line);
  if (indexed !== null) {
    const at = start + indexed.index + indexed[0].length - 1;
    return [[{ from: at, to: at, with: " + 1" }]];
  }
  const number = /(?<![\w.])\d+(?![\w.])/.exec(line);
  if (number === null) return [];
  const from = start + number.index;
  return [[{ from, to: from + number[0].length, with: String(Number(number[0]) + 1) }]];
}
