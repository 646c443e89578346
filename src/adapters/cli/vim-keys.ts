/** The text of the line and where its cursor is; columns are places in the string. */
export interface EditedText {
  readonly lines: readonly string[];
  readonly line: number;
  readonly column: number;
}

/** The effect of a key in normal mode: another text or cursor, or something that the editor does by itself. */
type VimStep =
  | { readonly kind: "text"; readonly text: EditedText; readonly isChanged: boolean }
  | { readonly kind: "undo" }
  | { readonly kind: "history"; readonly by: "up" | "down" }
  | { readonly kind: "send" }
  | { readonly kind: "waits" };

export type VimKeys = ReturnType<typeof createVimKeys>;

type Operator = "d" | "c" | "y";

/** A stretch of the text that an operator takes; `isLines`: the whole lines of both ends. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly isLines: boolean;
}

/** Where a motion leads; `isWhole`: an operator takes whole lines. */
interface Target {
  readonly at: number;
  readonly isWhole?: true;
}

/** Commands of one letter that stand for an operator with a motion. */
const SHORT: Readonly<Record<string, string>> = {
  x: "dl",
  X: "dh",
  s: "cl",
  S: "cc",
  D: "d$",
  C: "c$",
  Y: "yy",
};

const COMMAND = /^([1-9]\d*)?([dcy])?([1-9]\d*)?(.*)$/su;
const MOST_TIMES = 9_999;

/**
 * A modest vi for the message line: modes, counts, h j k l w b e 0 ^ $ gg G f F t T, d c y with them and with iw, x X D C Y s S
 * p P r ~ J, i a I A o O, u. Macros, marks, registers and visual mode are the external editor's.
 */
export function createVimKeys() {
  let normal = false;
  let typed = "";
  let register = { text: "", isLines: false };
  let lastFind: { readonly kind: string; readonly letter: string } | null = null;

  /** The text with the cursor at a place; in normal mode the cursor is on a character. */
  function done(text: string, at: number, isChanged = false): VimStep {
    typed = "";
    const last = lineEnd(text, at);
    const place = normal ? Math.min(at, before(text, last)) : at;
    return { kind: "text", text: toEdited(text, place), isChanged };
  }
  function insertAt(text: string, at: number, isChanged = false): VimStep {
    normal = false;
    return done(text, at, isChanged);
  }
  function end<Step extends VimStep>(step: Step): Step {
    typed = "";
    return step;
  }

  function find(text: string, from: number, kind: string, letter: string, count: number): Target | null {
    const [start, last] = [lineStart(text, from), lineEnd(text, from)];
    const ahead = kind === "f" || kind === "t";
    let at = from;
    for (let left = count; left > 0; left--) {
      at = ahead ? text.indexOf(letter, at + 1) : at === start ? -1 : text.lastIndexOf(letter, at - 1);
      if (at < start || at >= last) return null;
    }
    return { at: kind === "t" ? before(text, at) : kind === "T" ? after(text, at) : at };
  }

  /** Null: no motion has this name, "more": it is not typed completely. */
  function motion(text: string, at: number, keys: string, count: number): Target | "more" | null {
    const [kind = "", letter = ""] = [keys[0], keys.slice(1)];
    if (/[fFtT]/.test(kind)) {
      if (letter === "") return "more";
      lastFind = { kind, letter };
      return find(text, at, kind, letter, count);
    }
    if (keys === "g") return "more";
    if (keys === ";") return lastFind === null ? null : find(text, at, lastFind.kind, lastFind.letter, count);
    return MOTIONS[keys]?.(text, at, count) ?? null;
  }

  function operate(text: string, at: number, operator: Operator, keys: string, count: number): VimStep {
    const stretch = keys === "" ? "more" : stretchOf(text, at, operator, keys, count);
    if (stretch === "more") return { kind: "waits" };
    return stretch === null ? done(text, at) : applyOperator(text, operator, stretch);
  }

  function stretchOf(
    text: string,
    at: number,
    operator: Operator,
    keys: string,
    count: number,
  ): Stretch | "more" | null {
    if (keys === operator) return { from: at, to: moveLines(text, at, count - 1), isLines: true };
    if (keys === "i" || keys === "a") return "more";
    if (keys === "iw" || keys === "aw") return wordAround(text, at, keys === "aw");
    // `cw` leaves the blank behind the word, as vi does.
    const name = operator === "c" && keys === "w" ? "e" : keys;
    const target = motion(text, at, name, count);
    if (target === "more" || target === null) return target;
    const [from, to] = target.at < at ? [target.at, at] : [at, target.at];
    if (target.isWhole) return { from, to, isLines: true };
    const isInclusive = /^(?:e|[ft].)$/su.test(name);
    // `dw` on the last word of a line stays in it.
    const most = name === "w" ? lineEnd(text, from) : text.length;
    return { from, to: Math.min(most, isInclusive ? after(text, to) : to), isLines: false };
  }

  function applyOperator(text: string, operator: Operator, stretch: Stretch): VimStep {
    const { isLines } = stretch;
    const from = isLines ? lineStart(text, stretch.from) : stretch.from;
    const to = isLines ? lineEnd(text, stretch.to) : stretch.to;
    register = { text: text.slice(from, to), isLines };
    if (operator === "y") return done(text, stretch.from);
    const rest = text.slice(0, from) + text.slice(to);
    if (operator === "c") return insertAt(rest, from, true);
    if (!isLines) return done(rest, from, true);
    // Whole lines are deleted with the line break after them, the last line with the one before it.
    if (to < text.length) return done(text.slice(0, from) + text.slice(to + 1), from, true);
    const left = text.slice(0, Math.max(0, from - 1));
    return done(left, lineStart(left, left.length), true);
  }

  function put(text: string, at: number, isAfter: boolean): VimStep {
    const insert = (place: number, added: string, cursor: number) =>
      done(text.slice(0, place) + added + text.slice(place), cursor, true);
    if (register.isLines) {
      const place = isAfter ? lineEnd(text, at) : lineStart(text, at);
      return isAfter
        ? insert(place, `\n${register.text}`, place + 1)
        : insert(place, `${register.text}\n`, place);
    }
    if (register.text === "") return done(text, at);
    const place = isAfter ? after(text, at) : at;
    const added = text.slice(0, place) + register.text;
    return insert(place, register.text, register.text.includes("\n") ? place : before(added, added.length));
  }

  function command(text: string, at: number, keys: string, count: number): VimStep {
    const [start, last] = [lineStart(text, at), lineEnd(text, at)];
    const replace = (by: string, cursor: number) =>
      done(text.slice(0, at) + by + text.slice(after(text, at)), cursor, true);
    const [operator, name] = SHORT[keys] ?? [];
    if (operator !== undefined && name !== undefined)
      return operate(text, at, operator as Operator, name, name === "$" ? 1 : count);
    const inserts: Readonly<Record<string, number>> = {
      i: at,
      a: after(text, at),
      I: firstWord(text, at),
      A: last,
    };
    const place = inserts[keys];
    if (place !== undefined) return insertAt(text, place);
    switch (keys) {
      case "o":
        return insertAt(`${text.slice(0, last)}\n${text.slice(last)}`, last + 1, true);
      case "O":
        return insertAt(`${text.slice(0, start)}\n${text.slice(start)}`, start, true);
      case "p":
      case "P":
        return put(text, at, keys === "p");
      case "J":
        if (last === text.length) return done(text, at);
        return done(`${text.slice(0, last)} ${text.slice(last + 1).replace(/^[^\S\n]+/, "")}`, last, true);
      case "~": {
        const letter = text.slice(at, after(text, at));
        const upper = letter.toUpperCase();
        return replace(letter === upper ? letter.toLowerCase() : upper, after(text, at));
      }
      case "r":
        return { kind: "waits" };
      case "u":
        return end({ kind: "undo" });
      case "\r":
        return end({ kind: "send" });
      default:
        break;
    }
    if (keys.length > 1 && keys.startsWith("r"))
      return start === last ? done(text, at) : replace(keys.slice(1), at);
    if (keys === "k" && start === 0) return end({ kind: "history", by: "up" });
    if (keys === "j" && last === text.length) return end({ kind: "history", by: "down" });
    const target = motion(text, at, keys, count);
    if (target === "more") return { kind: "waits" };
    return done(text, target?.at ?? at);
  }

  return {
    isNormal: () => normal,
    /** `2d`: what was typed of a command so far. */
    pending: () => typed,
    toNormal(edited: EditedText): EditedText {
      normal = true;
      typed = "";
      const { text, at } = fromEdited(edited);
      return toEdited(text, before(text, at));
    },
    toInsert(): void {
      normal = false;
      typed = "";
    },
    /** A key of normal mode, as the letter that it types. */
    press(key: string, edited: EditedText): VimStep {
      typed += key;
      const [, times = "", operator, more = "", keys = ""] = COMMAND.exec(typed) ?? [];
      const count = Math.min(MOST_TIMES, Number(times || "1") * Number(more || "1"));
      const { text, at } = fromEdited(edited);
      if (operator !== undefined) return operate(text, at, operator as Operator, keys, count);
      return keys === "" ? { kind: "waits" } : command(text, at, keys, count);
    },
  };
}

function fromEdited({ lines, line, column }: EditedText): { readonly text: string; readonly at: number } {
  const above = lines.slice(0, line).reduce((sum, row) => sum + row.length + 1, 0);
  return { text: lines.join("\n"), at: above + column };
}

function toEdited(text: string, at: number): EditedText {
  const line = text.slice(0, at).split("\n").length - 1;
  return { lines: text.split("\n"), line, column: at - lineStart(text, at) };
}

const lineStart = (text: string, at: number) => text.slice(0, at).lastIndexOf("\n") + 1;

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

/** The same column so many lines further down; up, where it is negative. */
function moveLines(text: string, at: number, by: number): number {
  const { lines, line, column } = toEdited(text, at);
  const to = Math.max(0, Math.min(lines.length - 1, line + by));
  return fromEdited({ lines, line: to, column: Math.min(column, lines[to]?.length ?? 0) }).at;
}

/** Where the characters of a line begin, as people see them, and where the last one ends. */
function placesInLine(text: string, at: number): readonly number[] {
  const [start, end] = [lineStart(text, at), lineEnd(text, at)];
  const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text.slice(start, end));
  return [...[...letters].map(({ index }) => start + index), end];
}

/** The beginning of the character after the one at a place; the end of the line at most. */
const after = (text: string, at: number) => placesInLine(text, at).find((place) => place > at) ?? at;

const before = (text: string, at: number) => placesInLine(text, at).findLast((place) => place < at) ?? at;

const firstWord = (text: string, at: number) => {
  const start = lineStart(text, at);
  return start + text.slice(start, lineEnd(text, at)).search(/\S|$/u);
};

const kindOf = (letter: string | undefined) =>
  letter === undefined || /\s/u.test(letter) ? "blank" : /[\p{L}\p{N}_]/u.test(letter) ? "word" : "sign";

function nextWord(text: string, from: number): number {
  const end = lineEnd(text, from);
  const kind = kindOf(text[from]);
  let at = from;
  while (at < end && kind !== "blank" && kindOf(text[at]) === kind) at++;
  while (at < end && kindOf(text[at]) === "blank") at++;
  if (at < end || end === text.length) return at;
  const word = firstWord(text, end + 1);
  return word === lineEnd(text, word) ? end + 1 : word;
}

function formerWord(text: string, from: number): number {
  const start = lineStart(text, from);
  let at = from - 1;
  while (at >= start && kindOf(text[at]) === "blank") at--;
  if (at < start) {
    if (start === 0) return 0;
    return lineStart(text, start - 1) === start - 1 ? start - 1 : formerWord(text, start - 1);
  }
  const kind = kindOf(text[at]);
  while (at > start && kindOf(text[at - 1]) === kind) at--;
  return at;
}

function endOfWord(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && kindOf(text[at]) === "blank") at++;
  if (at >= text.length) return before(text, text.length);
  const kind = kindOf(text[at]);
  while (kindOf(text[at + 1]) === kind) at++;
  return at;
}

/** The word at the cursor, or the blanks; `isWide`: the blanks behind it too. */
function wordAround(text: string, at: number, isWide: boolean): Stretch {
  const [start, end] = [lineStart(text, at), lineEnd(text, at)];
  const kind = kindOf(text[at]);
  let [from, to] = [at, at];
  while (from > start && kindOf(text[from - 1]) === kind) from--;
  while (to < end && kindOf(text[to]) === kind) to++;
  while (isWide && to < end && kindOf(text[to]) === "blank") to++;
  return { from, to, isLines: false };
}

type Motion = (text: string, at: number, count: number) => Target;

const repeated =
  (step: (text: string, at: number) => number): Motion =>
  (text, at, count) => {
    let place = at;
    for (let left = count; left > 0; left--) place = step(text, place);
    return { at: place };
  };

const MOTIONS: Readonly<Record<string, Motion>> = {
  h: repeated(before),
  "\x7f": repeated(before),
  l: repeated(after),
  " ": repeated(after),
  j: (text, at, count) => ({ at: moveLines(text, at, count), isWhole: true }),
  k: (text, at, count) => ({ at: moveLines(text, at, -count), isWhole: true }),
  "0": (text, at) => ({ at: lineStart(text, at) }),
  "^": (text, at) => ({ at: firstWord(text, at) }),
  $: (text, at, count) => ({ at: lineEnd(text, moveLines(text, at, count - 1)) }),
  w: repeated(nextWord),
  b: repeated(formerWord),
  e: repeated(endOfWord),
  G: (text) => ({ at: lineStart(text, text.length), isWhole: true }),
  gg: () => ({ at: 0, isWhole: true }),
};
