import type { Route } from "../config/configured-kinds.ts";

/** One entry of the rule dictionary, as the configuration and the shipped file write it. */
export interface Rule {
  /** A regular expression, matched on a clause of the normalised message, case ignored. */
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  /** Messages that the rule must match, and must not; checked when it is loaded. */
  readonly match?: readonly string[] | undefined;
  readonly not_match?: readonly string[] | undefined;
  /** Of a shipped rule: the words may be a mere citation, so an order anywhere in the message takes precedence. */
  readonly yields?: boolean | undefined;
  /** Of a shipped rule: the clause is a clear order to change code. */
  readonly order?: boolean | undefined;
  /** Of a shipped rule: words, with `|` between them, without one of which it matches nothing. */
  readonly needs?: string | undefined;
}

export type RuleOrigin = "config" | "learned" | "shipped";

export interface CompiledRule {
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  readonly origin: RuleOrigin;
  /** Made at its first use: of the shipped rules a message tries few. */
  readonly regex: RegExp;
  readonly needs: readonly string[] | null;
  readonly yields: boolean;
  readonly order: boolean;
}

export type RuleProblem =
  | { readonly kind: "not-a-pattern"; readonly pattern: string; readonly detail: string }
  /** It could take exponential time on some message. */
  | { readonly kind: "catastrophic"; readonly pattern: string; readonly detail: string }
  | {
      readonly kind: "example";
      readonly pattern: string;
      readonly example: string;
      readonly expected: boolean;
    };

/** Full-width forms of what has a meaning in a pattern: a user who writes `できますか？` means the question mark. */
const WIDE_SYNTAX = /[（）［］｛｝．＊＋？＾＄｜＼／]/gu;

/** A pattern in the form to which messages are normalised. */
export function normalPattern(pattern: string): string {
  return pattern.replace(WIDE_SYNTAX, (wide) => `\\${wide.normalize("NFKC")}`).normalize("NFKC");
}

/** A piece of a pattern that `new RegExp(pattern, "u")` accepts; a group is its opening bracket alone. */
const TOKEN =
  /\\(?:[pPu]\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|c.|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>=!][^>]*>|[ims-]+:))?|[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gisu;
/** Constructs that make a search costly in ways that cannot be predicted. */
const LOOKS_BEHIND = /^\(\?<[=!]/;
const REFERS_BACK = /^\\[1-9k]/;

export interface PatternTrouble {
  readonly kind: "not-a-pattern" | "catastrophic";
  readonly detail: string;
}

const LONGEST_PATTERN = 1000;
/** A clause is no longer than this, and nothing is repeated in it more often. */
const CLAUSE = 300;
/** Ways of a search to read a clause: some ten milliseconds. */
const MOST_WAYS = 40_000_000;

/** Whether a search could take exponential time, by the ways to read a clause; it refuses some harmless patterns. A clock adds a trial. */
export function findCatastrophe(pattern: string, clockMs?: () => number): PatternTrouble | null {
  if (pattern.length > LONGEST_PATTERN)
    return { kind: "catastrophic", detail: `it is longer than ${LONGEST_PATTERN} characters` };
  const found = compile(pattern);
  if ("kind" in found) return found;
  const tokens = normalPattern(pattern).match(TOKEN) ?? [];
  const refuse = (detail: string) => ({ kind: "catastrophic", detail }) as const;
  if (tokens.some((token) => LOOKS_BEHIND.test(token))) return refuse("it looks behind");
  if (tokens.some((token) => REFERS_BACK.test(token))) return refuse("it refers back to what it matched");
  if (countWays(tokens) > MOST_WAYS)
    return refuse(
      "too many open repetitions: bound them, as in .{0,20}, and repeat nothing that holds a repetition or alternatives that begin alike",
    );
  return clockMs !== undefined && isSlow(found, tokens, clockMs) ? refuse("it is slow on some texts") : null;
}

function compile(pattern: string): RegExp | PatternTrouble {
  try {
    return new RegExp(normalPattern(pattern), "iu");
  } catch (cause) {
    return { kind: "not-a-pattern", detail: (cause as Error).message };
  }
}

/** Products along a sequence, powers of repetitions, sums of alternatives, but for those that begin with different characters. */
function countWays(tokens: readonly string[]): number {
  let at = 0;
  const readAlternatives = (places: number): number => {
    const byStart = new Map<string, number>();
    let others = 0;
    do {
      const starts = startsOf(tokens[at] ?? "", tokens[at + 1] ?? "");
      const ways = (tokens[at] === "^" ? 1 : places) * readSequence();
      for (const start of starts) byStart.set(start, (byStart.get(start) ?? 0) + ways);
      if (starts.length === 0) others += ways;
    } while (tokens[at++] === "|");
    return others + Math.max(0, ...byStart.values());
  };
  const readSequence = (): number => {
    let ways = 1;
    let ahead = 0;
    while (at < tokens.length && tokens[at] !== ")" && tokens[at] !== "|") {
      const token = tokens[at++] ?? "";
      const item = token.startsWith("(") ? readAlternatives(1) : 1;
      const bounds = readBounds(tokens[at] ?? "");
      if (bounds !== null) at += 1;
      const { min, max } = bounds ?? { min: 1, max: 1 };
      // A lookahead is tried again on each path that leads to it; a few words in it cost little.
      if (/^\(\?[=!]/.test(token)) ahead += item < 8 ? item : ways * item;
      else ways *= (max - min + 1) * item ** max;
    }
    return ways + ahead;
  };
  return readAlternatives(CLAUSE);
}

/** The characters with which an alternative begins; none if its first token matches more than some characters. */
function startsOf(first: string, next: string): readonly string[] {
  if (readBounds(next)?.min === 0) return [];
  const chars = /^\[([^\\^\]-]+)\]$/.exec(first)?.[1] ?? (/^[^\\.^$()|[]$/u.test(first) ? first : "");
  // A search without case takes `σ` and `ς` for the same: they have one capital.
  return [...new Set(chars.toLowerCase().toUpperCase())];
}

function readBounds(token: string): { readonly min: number; readonly max: number } | null {
  const [, sign, low = "", more, high = ""] = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??$/.exec(token) ?? [];
  if (sign !== undefined) return { min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : CLAUSE };
  if (low === "") return null;
  return { min: Number(low), max: more === undefined ? Number(low) : high === "" ? CLAUSE : Number(high) };
}

/** Characters that stand for all, beside those that the pattern names. */
const COMMON_CHARACTERS = [..."aZ0 _-./あア漢ーn"];
const LENGTHS = [8, 12, 16, 20, 24, 28, 32, 64, CLAUSE];
const SLOW_MS = 50;
/** A machine that was busy elsewhere is not the pattern's fault: it has to be slow each time. */
const TRIES = [1, 2, 3, 4];

/** Tries texts of growing length, so that even what the count missed ends in time. */
function isSlow(regex: RegExp, tokens: readonly string[], clockMs: () => number): boolean {
  if (!tokens.some((token) => (readBounds(token)?.max ?? 0) > 1)) return false;
  return [...new Set([...COMMON_CHARACTERS, ...tokens.join("")])]
    .slice(0, 40)
    .some((probe) =>
      LENGTHS.some((length) =>
        TRIES.every(() => timeOf(regex, `${probe.repeat(length)}\u0001`, clockMs) > SLOW_MS),
      ),
    );
}

function timeOf(regex: RegExp, text: string, clockMs: () => number): number {
  const began = clockMs();
  regex.test(text);
  return clockMs() - began;
}
