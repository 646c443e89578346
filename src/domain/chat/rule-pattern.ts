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

/** Why a rule is not used. */
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

/** A pattern in the form that messages are brought into. */
export function normalPattern(pattern: string): string {
  return pattern.replace(WIDE_SYNTAX, (wide) => `\\${wide.normalize("NFKC")}`).normalize("NFKC");
}

/** A regular expression as a tree, as far as its cost is concerned. */
type PatternNode =
  /** One character of a set; `source` is a pattern of its own. */
  | { readonly type: "set"; readonly source: string }
  | { readonly type: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly type: "choice"; readonly options: readonly PatternNode[] }
  | { readonly type: "repeat"; readonly item: PatternNode; readonly min: number; readonly max: number }
  /** Looks ahead, takes nothing. */
  | { readonly type: "look"; readonly item: PatternNode }
  /** `^`, `$`, `\b`. */
  | { readonly type: "place" };

/** A construct that rules do not support: it makes a search costly in ways that cannot be predicted. */
class UnsupportedPattern extends Error {}

/** Reads a pattern that `new RegExp(pattern, "u")` accepts. */
function readPattern(pattern: string): PatternNode {
  const chars = [...pattern];
  const state = { at: 0 };
  const peek = () => chars[state.at];
  const take = () => chars[state.at++] ?? "";
  const takeUntil = (end: string) => {
    let text = "";
    while (peek() !== undefined && peek() !== end) text += take();
    return text + take();
  };

  const choice = (): PatternNode => {
    const options = [sequence()];
    while (peek() === "|") {
      take();
      options.push(sequence());
    }
    return options.length === 1 ? options[0]! : { type: "choice", options };
  };
  const sequence = (): PatternNode => {
    const items: PatternNode[] = [];
    while (peek() !== undefined && peek() !== "|" && peek() !== ")") items.push(quantified(atom()));
    return items.length === 1 ? items[0]! : { type: "sequence", items };
  };
  const atom = (): PatternNode => {
    const char = take();
    switch (char) {
      case "(":
        return group();
      case "[":
        return { type: "set", source: `[${classBody()}` };
      case "^":
      case "$":
        return { type: "place" };
      case "\\":
        return escaped();
      default:
        return { type: "set", source: char };
    }
  };
  const group = (): PatternNode => {
    let look = false;
    if (peek() === "?") {
      take();
      const kind = take();
      if (kind === "=" || kind === "!") look = true;
      else if (kind === "<" && (peek() === "=" || peek() === "!"))
        throw new UnsupportedPattern("it looks behind");
      else if (kind === "<") takeUntil(">");
      else if (kind !== ":") takeUntil(":");
    }
    const item = choice();
    take();
    return look ? { type: "look", item } : item;
  };
  const classBody = (): string => {
    let body = "";
    while (peek() !== undefined && peek() !== "]") {
      const char = take();
      body += char === "\\" ? char + take() : char;
    }
    return body + take();
  };
  const escaped = (): PatternNode => {
    const char = take();
    if (char === "b" || char === "B") return { type: "place" };
    if (/[1-9k]/u.test(char)) throw new UnsupportedPattern("it refers back to what it matched");
    if ((char === "p" || char === "P" || char === "u") && peek() === "{")
      return { type: "set", source: `\\${char}${takeUntil("}")}` };
    const digits = char === "u" ? 4 : char === "x" ? 2 : char === "c" ? 1 : 0;
    let source = `\\${char}`;
    for (let i = 0; i < digits; i++) source += take();
    return { type: "set", source };
  };
  const quantified = (item: PatternNode): PatternNode => {
    const bounds = quantifier();
    if (bounds === undefined) return item;
    if (peek() === "?") take();
    return { type: "repeat", item, ...bounds };
  };
  const quantifier = (): { min: number; max: number } | undefined => {
    switch (peek()) {
      case "*":
        take();
        return { min: 0, max: Number.POSITIVE_INFINITY };
      case "+":
        take();
        return { min: 1, max: Number.POSITIVE_INFINITY };
      case "?":
        take();
        return { min: 0, max: 1 };
      case "{": {
        const [min = "", max = min] = takeUntil("}").slice(1, -1).split(",");
        return { min: Number(min), max: max === "" ? Number.POSITIVE_INFINITY : Number(max) };
      }
      default:
        return undefined;
    }
  };
  return choice();
}

export interface PatternTrouble {
  readonly kind: "not-a-pattern" | "catastrophic";
  readonly detail: string;
}

const LONGEST_PATTERN = 1000;
/** A clause is no longer than this. */
const CLAUSE = 300;
/** Steps of a search that a message may cost: some ten milliseconds. */
const MOST_STEPS = 30_000_000;
/** Repeated more often than this is as good as without end. */
const MANY_REPEATS = 20;

/**
 * Finds out whether a pattern can take exponential time on some clause. Repetitions within repetitions, and what can be repeated in two
 * ways, are refused (the cost doubles with every character); repetitions side by side are multiplied. It refuses some
 * harmless patterns, and says what to change. With a clock, a trial on hostile texts follows.
 */
export function findCatastrophe(pattern: string, clockMs?: () => number): PatternTrouble | null {
  if (pattern.length > LONGEST_PATTERN)
    return { kind: "catastrophic", detail: `it is longer than ${LONGEST_PATTERN} characters` };
  const found = compile(pattern);
  if ("kind" in found) return found;
  try {
    const tree = readPattern(normalPattern(pattern));
    const overlap = overlapOf(tree);
    const detail = doubled(tree, overlap);
    if (detail !== null) return { kind: "catastrophic", detail };
    const places = tree.type === "sequence" && pattern.startsWith("^") ? 1 : CLAUSE;
    if (places * stepsOf(tree, overlap) > MOST_STEPS)
      return { kind: "catastrophic", detail: "too many open repetitions; bound them, as in .{0,20}" };
    if (clockMs !== undefined && isSlow(found, tree, clockMs))
      return { kind: "catastrophic", detail: "it is slow on some texts" };
    return null;
  } catch (cause) {
    if (cause instanceof UnsupportedPattern) return { kind: "catastrophic", detail: cause.message };
    throw cause;
  }
}

function compile(pattern: string): RegExp | PatternTrouble {
  try {
    return new RegExp(normalPattern(pattern), "iu");
  } catch (cause) {
    return { kind: "not-a-pattern", detail: (cause as Error).message };
  }
}

type RepeatOverlap = (one: PatternNode, other: PatternNode) => boolean;

/** The problem inside an unbounded repetition, for all of them. */
function doubled(node: PatternNode, overlap: RepeatOverlap): string | null {
  if (node.type === "repeat" && node.max > MANY_REPEATS) {
    if (isNullable(node.item)) return "a repetition of what can be nothing";
    const inner = ambiguity(node.item, overlap);
    if (inner !== null) return inner;
  }
  for (const child of childrenOf(node)) {
    const inner = doubled(child, overlap);
    if (inner !== null) return inner;
  }
  return null;
}

function ambiguity(node: PatternNode, overlap: RepeatOverlap): string | null {
  if (node.type === "repeat" && node.min !== node.max) return "a repetition within a repetition";
  if (node.type === "choice")
    for (const [index, option] of node.options.entries())
      if (node.options.slice(index + 1).some((other) => overlap(option, other)))
        return "a repetition of alternatives that begin alike";
  for (const child of childrenOf(node)) {
    const inner = ambiguity(child, overlap);
    if (inner !== null) return inner;
  }
  return null;
}

/** In how many ways a place of the text can be tried. */
function stepsOf(node: PatternNode, overlap: RepeatOverlap): number {
  switch (node.type) {
    case "set":
    case "place":
      return 1;
    case "look":
      return stepsOf(node.item, overlap);
    case "choice": {
      // Of alternatives that begin differently, one is gone into at a place; of those that begin alike, all.
      const alike = (one: PatternNode) => node.options.some((other) => other !== one && overlap(one, other));
      const steps = node.options.map((option) => ({ steps: stepsOf(option, overlap), alike: alike(option) }));
      const apart = Math.max(1, ...steps.filter((option) => !option.alike).map((option) => option.steps));
      return steps.reduce((sum, option) => (option.alike ? sum + option.steps : sum), apart);
    }
    case "sequence": {
      let product = 1;
      let looks = 0;
      for (const [index, item] of node.items.entries()) {
        const next = node.items[index + 1];
        const maybe = item.type === "repeat" && item.max === 1 ? item : undefined;
        // Looking ahead is done once a try; a single "maybe" costs where what follows could be it as well.
        if (item.type === "look") looks += stepsOf(item, overlap);
        else if (maybe !== undefined && (next === undefined || !overlap(maybe, next)))
          product *= stepsOf(maybe.item, overlap);
        else product *= stepsOf(item, overlap);
      }
      return product + looks;
    }
    case "repeat": {
      const ways = Math.min(node.max, CLAUSE) - node.min + 1;
      return ways * stepsOf(node.item, overlap);
    }
  }
}

function childrenOf(node: PatternNode): readonly PatternNode[] {
  switch (node.type) {
    case "sequence":
      return node.items;
    case "choice":
      return node.options;
    case "repeat":
    case "look":
      return [node.item];
    case "set":
    case "place":
      return [];
  }
}

function isNullable(node: PatternNode): boolean {
  switch (node.type) {
    case "set":
      return false;
    case "place":
    case "look":
      return true;
    case "sequence":
      return node.items.every(isNullable);
    case "choice":
      return node.options.some(isNullable);
    case "repeat":
      return node.min === 0 || isNullable(node.item);
  }
}

/** The sets that a match of the node can begin with. */
function firstSets(node: PatternNode): string[] {
  switch (node.type) {
    case "set":
      return [node.source];
    case "place":
    case "look":
      return [];
    case "choice":
      return node.options.flatMap(firstSets);
    case "repeat":
      return firstSets(node.item);
    case "sequence": {
      const end = node.items.findIndex((item) => !isNullable(item));
      return node.items.slice(0, end === -1 ? node.items.length : end + 1).flatMap(firstSets);
    }
  }
}

const COMMON_CHARACTERS = [..."aZ0 _-./あア漢ーn"];

/** Characters that stand for all: common ones, and those the pattern names. */
function probesOf(tree: PatternNode): string[] {
  return [...new Set([...COMMON_CHARACTERS, ...setsIn(tree).flatMap((source) => [...source])])];
}

function setsIn(node: PatternNode): string[] {
  return node.type === "set" ? [node.source] : childrenOf(node).flatMap(setsIn);
}

function overlapOf(tree: PatternNode): RepeatOverlap {
  const known: { probes?: string[] } = {};
  const taken = new Map<string, ReadonlySet<string>>();
  const charsOf = (source: string) => {
    known.probes ??= probesOf(tree);
    const regex = new RegExp(`^(?:${source})$`, "iu");
    const chars = taken.get(source) ?? new Set(known.probes.filter((probe) => regex.test(probe)));
    taken.set(source, chars);
    return chars;
  };
  return (one, other) =>
    firstSets(one).some((left) =>
      firstSets(other).some((right) => !charsOf(left).isDisjointFrom(charsOf(right))),
    );
}

const LENGTHS = [8, 12, 16, 20, 24, 28, 32, 64, CLAUSE];
const SLOW_MS = 50;
/** A machine that was busy elsewhere is not the pattern's fault: it has to be slow each time. */
const TRIES = [1, 2, 3, 4];

/** Tries texts of growing length, so that even what the analysis missed ends in time. */
function isSlow(regex: RegExp, tree: PatternNode, clockMs: () => number): boolean {
  if (!setsIn(tree).length || !hasRepeat(tree)) return false;
  for (const probe of probesOf(tree).slice(0, 40))
    for (const length of LENGTHS)
      if (TRIES.every(() => timeOf(regex, `${probe.repeat(length)}\u0001`, clockMs) > SLOW_MS)) return true;
  return false;
}

function timeOf(regex: RegExp, text: string, clockMs: () => number): number {
  const began = clockMs();
  regex.test(text);
  return clockMs() - began;
}

function hasRepeat(node: PatternNode): boolean {
  return (node.type === "repeat" && node.max > 1) || childrenOf(node).some(hasRepeat);
}
