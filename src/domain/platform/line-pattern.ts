/**
 * JavaScript's regular expressions over one line, in work that grows with the line: a pattern and a line in, the first place of a
 * match out. A pattern whose worst case is known to be short on a line is left to the runtime. Every other one runs as a set of
 * states that advance together, so that no character is tried twice in the same state. What needs more than that (a look-around,
 * a back reference) is refused.
 */

/** The steps that were taken, for the tests that count them, and how many the runtime may take for one line. */
export interface PatternWork {
  steps: number;
  readonly ofRuntime: number;
}

/** Why a pattern that is valid is not searched for. */
export class PatternRefused extends Error {}

export interface CompiledPattern {
  /** Where the first match begins; -1 if there is none. */
  readonly indexIn: (line: string) => number;
}

const LONGEST_PATTERN = 2_000;
const MOST_STATES = 4_000;
const STEPS_OF_RUNTIME = 1_000_000;

/** Throws a SyntaxError for what is no pattern, and PatternRefused for one that is not linear. */
export function compileLinePattern(
  source: string,
  flags: string,
  work: PatternWork = { steps: 0, ofRuntime: STEPS_OF_RUNTIME },
): CompiledPattern {
  const regExp = new RegExp(source, flags);
  if (source.length > LONGEST_PATTERN) throw new PatternRefused("it is too long");
  const tokens = tokensOf(source, flags.includes("u"));
  const program = compileTokens(tokens, flags);
  const repeats = countRepeats(tokens, flags);
  const isUnicode = flags.includes("u");
  const mayMatch = createQuickTest(program, isUnicode, work);
  return {
    indexIn(line) {
      if (repeats !== null && line.length ** (repeats + 1) <= work.ofRuntime) {
        work.steps += line.length ** (repeats + 1);
        return line.search(regExp);
      }
      return mayMatch(line) ? runStates(program, line, isUnicode, work) : -1;
    },
  };
}

/** One class, escape, group opening, quantifier or character. */
const TOKEN =
  /\[(?:\\[\s\S]|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[\s\S])|\(\?(?:<[A-Za-z_$][\w$]*>|<?[\s\S])|\{\d+(?:,\d*)?\}|[\s\S]/g;
const TOKEN_OF_UNICODE = new RegExp(TOKEN.source, "gu");
const QUANTIFIER = /^(?:[*+?]|\{\d+(?:,\d*)?\})$/;

function tokensOf(source: string, isUnicode: boolean): readonly string[] {
  const tokens = source.match(isUnicode ? TOKEN_OF_UNICODE : TOKEN) ?? [];
  for (const token of tokens) {
    if (/^\(\?(?!:|<[A-Za-z_$])/.test(token)) throw new PatternRefused("it looks ahead or back");
    if (/^\\[1-9k]/.test(token)) throw new PatternRefused("it refers back to a group");
    if (!isUnicode && token.startsWith("\\u{")) throw new PatternRefused("\\u{…} has another meaning in it");
  }
  return tokens;
}

/**
 * The power of a line's length that the runtime may take, without the one for where it begins; null where a repetition is within
 * another, or a choice is repeated. Repetitions after which something else must follow than they take cost one power together.
 */
function countRepeats(tokens: readonly string[], flags: string): number | null {
  let [open, closed, choices] = [0, 0, 1];
  for (const [at, token] of tokens.entries()) {
    const isQuantifier = QUANTIFIER.test(token);
    if (isQuantifier && tokens[at - 1] === ")") return null;
    if ((token === "?" && !QUANTIFIER.test(tokens[at - 1] ?? "")) || token === "|") choices *= 2;
    else if (isQuantifier && token !== "?" && mayFollow(tokens, at, flags)) open += 1;
    else if (isQuantifier && token !== "?") closed = 1;
  }
  return choices > 64 ? null : open + closed;
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

/** Whether what a quantifier repeats may also be what follows it; true where that is not certain. */
function mayFollow(tokens: readonly string[], quantifier: number, flags: string): boolean {
  const all = tokens.join("");
  const samples = [...ASCII, ...all, ...all.toUpperCase(), ...all.toLowerCase(), "\u00a0", "é", "あ", "😀"];
  const taken = charTest(tokens[quantifier - 1] ?? "", flags);
  for (let at = readBounds(tokens, quantifier).end; at < tokens.length; ) {
    const token = tokens[at]!;
    if (Object.hasOwn(ASSERTIONS, token) || /^[(|)]/.test(token)) return true;
    const next = charTest(token, flags);
    if (samples.some((char) => taken(char) && next(char))) return true;
    const { least, end } = readBounds(tokens, at + 1);
    if (least > 0) return false;
    at = end;
  }
  // At the end every rest is a match.
  return false;
}

type State =
  | { readonly kind: "char"; readonly test: (char: string) => boolean }
  | { readonly kind: "assert"; readonly test: (line: string, at: number) => boolean }
  | { readonly kind: "split"; readonly to: number[] }
  | { readonly kind: "match" };

const isWordAt = (line: string, at: number) => /[A-Za-z0-9_]/.test(line.charAt(at));
const isEdge = (line: string, at: number) => isWordAt(line, at - 1) !== isWordAt(line, at);
const ASSERTIONS: Readonly<Record<string, (line: string, at: number) => boolean>> = {
  "^": (_, at) => at === 0,
  $: (line, at) => at === line.length,
  "\\b": isEdge,
  "\\B": (line, at) => !isEdge(line, at),
};

/** The states of a pattern, the first one being its beginning. Of a quantifier, its part is written as often as it counts. */
function compileTokens(tokens: readonly string[], flags: string): readonly State[] {
  const states: State[] = [];
  const push = (state: State) => {
    if (states.push(state) > MOST_STATES) throw new PatternRefused("its repetitions count too far");
    return states.length - 1;
  };
  const branch = () => {
    const to: number[] = [];
    push({ kind: "split", to });
    return to;
  };
  let at = 0;

  function writeChoice(): void {
    const begin = branch();
    const ends: number[][] = [];
    do {
      begin.push(states.length);
      while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") writeRepeated();
      ends.push(branch());
    } while (tokens[at] === "|" && ++at);
    for (const end of ends) end.push(states.length);
  }

  function writePart(): void {
    const token = tokens[at++]!;
    const assertion = ASSERTIONS[token];
    if (token.startsWith("(")) {
      writeChoice();
      at += 1;
    } else if (assertion !== undefined) push({ kind: "assert", test: assertion });
    else push({ kind: "char", test: charTest(token, flags) });
  }

  function writeRepeated(): void {
    const from = at;
    const skip = readBounds(tokens, endOfPart(tokens, at));
    const write = () => {
      at = from;
      writePart();
    };
    for (let n = 0; n < skip.least; n++) write();
    if (skip.most === Infinity) {
      const begin = branch();
      begin.push(states.length);
      const again = states.length - 1;
      write();
      branch().push(again);
      begin.push(states.length);
    } else {
      const out: number[][] = [];
      for (let n = skip.least; n < skip.most; n++) {
        const begin = branch();
        begin.push(states.length);
        out.push(begin);
        write();
      }
      for (const begin of out) begin.push(states.length);
    }
    at = skip.end;
  }

  writeChoice();
  push({ kind: "match" });
  return states;
}

/** Just past the part that begins at a token: a group, or the token. */
function endOfPart(tokens: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    if (tokens[at]!.startsWith("(")) depth += 1;
    if (tokens[at] === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

/** The quantifier at a token, and what is just past it and its mark of laziness. */
function readBounds(tokens: readonly string[], at: number) {
  const token = tokens[at] ?? "";
  if (!QUANTIFIER.test(token)) return { least: 1, most: 1, end: at };
  const end = tokens[at + 1] === "?" ? at + 2 : at + 1;
  if (token === "*") return { least: 0, most: Infinity, end };
  if (token === "+") return { least: 1, most: Infinity, end };
  if (token === "?") return { least: 0, most: 1, end };
  const [least = "", most = least] = token.slice(1, -1).split(",");
  return { least: Number(least), most: most === "" ? Infinity : Number(most), end };
}

/** Whether one character is what a token means; the runtime decides, once for each character. */
function charTest(token: string, flags: string): (char: string) => boolean {
  const isPlain = [...token].length === 1 && token !== ".";
  const regExp = new RegExp(`^(?:${isPlain ? token.replace(/[\^$\\*+?()[\]{}|/]/, "\\$&") : token})$`, flags);
  const known = new Map<string, boolean>();
  return (char) => {
    let is = known.get(char);
    if (is === undefined) {
      is = regExp.test(char);
      known.set(char, is);
    }
    return is;
  };
}

/** Known sets of states are forgotten beyond this many. */
const MOST_SETS = 1_000;
const MATCHED = -1;

/**
 * Whether a line has a match anywhere: the states after a character are a set with a number, and what a set becomes by a character
 * is worked out once. What an assertion sees is the character, and whether a letter, another character or the end is next.
 */
function createQuickTest(states: readonly State[], isUnicode: boolean, work: PatternWork) {
  let sets: (readonly number[])[] = [];
  let numbers = new Map<string, number>();
  let steps: Map<number, number>[] = [];
  const toNumber = (set: readonly number[]) => {
    const name = set.join();
    let number = numbers.get(name);
    if (number === undefined) {
      number = sets.push(set) - 1;
      numbers.set(name, number);
      steps.push(new Map());
    }
    return number;
  };
  /** The states from some of them on, without reading; null if the match is among them. */
  const reach = (from: readonly number[], line: string, at: number): readonly number[] | null => {
    const seen = new Set<number>();
    const pending = [...from];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      work.steps += 1;
      const state = states[next]!;
      if (state.kind === "match") return null;
      if (state.kind === "split") for (const to of state.to) pending.push(to);
      else if (state.kind === "assert" && state.test(line, at)) pending.push(next + 1);
    }
    return [...seen].filter((next) => states[next]!.kind === "char").sort((a, b) => a - b);
  };
  return (line: string): boolean => {
    if (sets.length > MOST_SETS) [sets, numbers, steps] = [[], new Map(), []];
    const begin = reach([0], line, 0);
    if (begin === null) return true;
    let set = toNumber(begin);
    for (let at = 0; at < line.length; ) {
      const code = isUnicode ? line.codePointAt(at)! : line.charCodeAt(at);
      at += code > 0xffff ? 2 : 1;
      const next = at === line.length ? 0 : isWordAt(line, at) ? 1 : 2;
      const key = code * 3 + next;
      let to = steps[set]!.get(key);
      work.steps += 1;
      if (to === undefined) {
        const char = String.fromCodePoint(code);
        const read = sets[set]!.filter((index) => {
          const state = states[index]!;
          return state.kind === "char" && state.test(char);
        });
        work.steps += sets[set]!.length;
        const reached = reach([0, ...read.map((index) => index + 1)], line, at);
        to = reached === null ? MATCHED : toNumber(reached);
        steps[set]!.set(key, to);
      }
      if (to === MATCHED) return true;
      set = to;
    }
    return false;
  };
}

/** Advances all states together. Those that began earlier are first, so a state is kept with its earliest beginning. */
function runStates(states: readonly State[], line: string, isUnicode: boolean, work: PatternWork): number {
  const seen = new Int32Array(states.length).fill(-1);
  let now: [state: number, begun: number][] = [];
  let best = -1;
  const enter = (list: [number, number][], first: number, begun: number, at: number) => {
    const pending = [first];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen[next] === at) continue;
      seen[next] = at;
      work.steps += 1;
      const state = states[next]!;
      if (state.kind === "char") list.push([next, begun]);
      else if (state.kind === "split") pending.push(...state.to.toReversed());
      else if (state.kind === "match") best = best < 0 ? begun : Math.min(best, begun);
      else if (state.test(line, at)) pending.push(next + 1);
    }
  };
  for (let at = 0; at <= line.length; ) {
    if (best < 0) enter(now, 0, at, at);
    if (at === line.length || (best >= 0 && now.length === 0)) break;
    const code = isUnicode ? line.codePointAt(at)! : line.charCodeAt(at);
    const char = isUnicode ? String.fromCodePoint(code) : line.charAt(at);
    at += char.length;
    const next: [number, number][] = [];
    for (const [index, begun] of now) {
      work.steps += 1;
      const state = states[index]!;
      const isOn = best < 0 || begun < best;
      if (isOn && state.kind === "char" && state.test(char)) enter(next, index + 1, begun, at);
    }
    now = next;
  }
  return best;
}
