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

type Place = Pick<EditedText, "line" | "column">;
type Operator = "d" | "c" | "y";
interface Register {
  readonly text: string;
  readonly isLines: boolean;
}
/** A stretch that an operator takes; `isLines`: whole lines. */
interface Stretch {
  readonly from: Place;
  readonly to: Place;
  readonly isLines: boolean;
}

const COMMAND = /^([1-9]\d*)?([dcy])?([1-9]\d*)?(.*)$/su;

/**
 * A modest vi for the message line: modes, counts, h j k l w b e 0 ^ $ gg G f F t T, d c y with them and with iw, x X D C Y s S
 * p P r ~ J, i a I A o O, u. Macros, marks, registers and visual mode are the external editor's.
 */
export function createVimKeys() {
  let normal = false;
  let typed = "";
  let register: Register = { text: "", isLines: false };
  let lastFind: { readonly kind: string; readonly letter: string } | null = null;

  const done = (text: EditedText, isChanged = false): VimStep => {
    typed = "";
    const column = normal ? Math.min(text.column, lastColumn(text.lines[text.line] ?? "")) : text.column;
    return { kind: "text", text: { ...text, column: Math.max(0, column) }, isChanged };
  };
  const insertAt = (text: EditedText, isChanged = false): VimStep => {
    normal = false;
    return done(text, isChanged);
  };
  const nothing = (text: EditedText) => done(text);

  function find(text: EditedText, kind: string, letter: string, count: number): Place | null {
    const line = text.lines[text.line] ?? "";
    const ahead = kind === "f" || kind === "t";
    let at = text.column;
    for (let left = count; left > 0; left--) {
      at = ahead ? line.indexOf(letter, at + 1) : at === 0 ? -1 : line.lastIndexOf(letter, at - 1);
      if (at < 0) return null;
    }
    if (kind === "t") at = before(line, at);
    if (kind === "T") at = after(line, at);
    return { line: text.line, column: at };
  }

  /** Where a motion leads; null: no motion has this name, "more": it is not typed completely. */
  function motion(
    text: EditedText,
    keys: string,
    count: number,
  ): (Place & { isWhole?: true }) | "more" | null {
    const { lines, line, column } = text;
    const row = lines[line] ?? "";
    const repeat = (step: (place: Place) => Place) => {
      let place: Place = { line, column };
      for (let left = count; left > 0; left--) place = step(place);
      return place;
    };
    const first = keys[0] ?? "";
    if (/[fFtT]/.test(first)) {
      const letter = keys.slice(1);
      if (letter === "") return "more";
      lastFind = { kind: first, letter };
      return find(text, first, letter, count);
    }
    switch (keys) {
      case "h":
      case "\x7f":
        return repeat((place) => ({ ...place, column: before(row, place.column) }));
      case "l":
      case " ":
        return repeat((place) => ({ ...place, column: after(row, place.column) }));
      case "j":
        return { line: Math.min(lines.length - 1, line + count), column, isWhole: true };
      case "k":
        return { line: Math.max(0, line - count), column, isWhole: true };
      case "0":
        return { line, column: 0 };
      case "^":
        return { line, column: row.search(/\S|$/u) };
      case "$":
        return {
          line: Math.min(lines.length - 1, line + count - 1),
          column: (lines[line + count - 1] ?? row).length,
        };
      case "w":
        return repeat((place) => nextWord(lines, place));
      case "b":
        return repeat((place) => formerWord(lines, place));
      case "e":
        return repeat((place) => endOfWord(lines, place));
      case "G":
        return { line: lines.length - 1, column: 0, isWhole: true };
      case "g":
        return "more";
      case "gg":
        return { line: 0, column: 0, isWhole: true };
      case ";":
        return lastFind === null ? null : find(text, lastFind.kind, lastFind.letter, count);
      default:
        return null;
    }
  }

  function operate(text: EditedText, operator: Operator, keys: string, count: number): VimStep {
    if (keys === "") return { kind: "waits" };
    const stretch = stretchOf(text, operator, keys, count);
    if (stretch === "more") return { kind: "waits" };
    if (stretch === null) return nothing(text);
    return applyOperator(text, operator, stretch);
  }

  function stretchOf(
    text: EditedText,
    operator: Operator,
    keys: string,
    count: number,
  ): Stretch | "more" | null {
    const { line, column, lines } = text;
    if (keys === operator)
      return {
        from: { line, column: 0 },
        to: { line: Math.min(lines.length - 1, line + count - 1), column: 0 },
        isLines: true,
      };
    if (keys === "i" || keys === "a") return "more";
    if (keys === "iw" || keys === "aw") return wordAround(text, keys === "aw");
    // `cw` leaves the blank behind the word, as vi does.
    const name = operator === "c" && keys === "w" ? "e" : keys;
    const place = motion(text, name, count);
    if (place === "more" || place === null) return place;
    const isAhead = place.line > line || (place.line === line && place.column >= column);
    const [from, to] = isAhead ? [{ line, column }, place] : [place, { line, column }];
    if (place.isWhole) return { from, to, isLines: true };
    const isInclusive = /^(?:e|[ft].)$/su.test(name);
    const end = isInclusive ? { ...to, column: after(lines[to.line] ?? "", to.column) } : to;
    // `dw` on the last word of a line stays in it.
    const isWordEnd = name === "w" && end.line > from.line;
    return {
      from,
      to: isWordEnd ? { line: from.line, column: (lines[from.line] ?? "").length } : end,
      isLines: false,
    };
  }

  function applyOperator(text: EditedText, operator: Operator, { from, to, isLines }: Stretch): VimStep {
    const { lines } = text;
    register = {
      text: isLines ? lines.slice(from.line, to.line + 1).join("\n") : cutOut(lines, from, to),
      isLines,
    };
    if (operator === "y") return done({ ...text, ...(isLines ? { line: from.line } : from) });
    if (isLines && operator === "c")
      return insertAt(
        {
          lines: [...lines.slice(0, from.line), "", ...lines.slice(to.line + 1)],
          line: from.line,
          column: 0,
        },
        true,
      );
    if (isLines) {
      const left = [...lines.slice(0, from.line), ...lines.slice(to.line + 1)];
      const kept = left.length === 0 ? [""] : left;
      return done({ lines: kept, line: Math.min(from.line, kept.length - 1), column: 0 }, true);
    }
    const next = { lines: withoutStretch(lines, from, to), ...from };
    return operator === "c" ? insertAt(next, true) : done(next, true);
  }

  function put(text: EditedText, isAfter: boolean): VimStep {
    const { lines, line, column } = text;
    if (register.text === "" && !register.isLines) return nothing(text);
    if (register.isLines) {
      const at = isAfter ? line + 1 : line;
      return done(
        {
          lines: [...lines.slice(0, at), ...register.text.split("\n"), ...lines.slice(at)],
          line: at,
          column: 0,
        },
        true,
      );
    }
    const row = lines[line] ?? "";
    const at = isAfter ? after(row, column) : column;
    const rows = `${row.slice(0, at)}${register.text}${row.slice(at)}`.split("\n");
    const end = before(rows[0] ?? "", at + register.text.length);
    const place = rows.length === 1 ? { line, column: end } : { line, column: at };
    return done({ lines: [...lines.slice(0, line), ...rows, ...lines.slice(line + 1)], ...place }, true);
  }

  function command(text: EditedText, keys: string, count: number): VimStep {
    const { lines, line, column } = text;
    const row = lines[line] ?? "";
    const withRow = (next: string, at: number) => ({ lines: lines.with(line, next), line, column: at });
    switch (keys) {
      case "i":
        return insertAt(text);
      case "a":
        return insertAt({ ...text, column: after(row, column) });
      case "I":
        return insertAt({ ...text, column: row.search(/\S|$/u) });
      case "A":
        return insertAt({ ...text, column: row.length });
      case "o":
        return insertAt(
          { lines: [...lines.slice(0, line + 1), "", ...lines.slice(line + 1)], line: line + 1, column: 0 },
          true,
        );
      case "O":
        return insertAt(
          { lines: [...lines.slice(0, line), "", ...lines.slice(line)], line, column: 0 },
          true,
        );
      case "x":
        return operate(text, "d", "l", count);
      case "X":
        return operate(text, "d", "h", count);
      case "s":
        return operate(text, "c", "l", count);
      case "S":
        return operate(text, "c", "c", count);
      case "D":
        return operate(text, "d", "$", 1);
      case "C":
        return operate(text, "c", "$", 1);
      case "Y":
        return operate(text, "y", "y", count);
      case "p":
        return put(text, true);
      case "P":
        return put(text, false);
      case "J": {
        if (line >= lines.length - 1) return nothing(text);
        const joined = `${row} ${(lines[line + 1] ?? "").trimStart()}`;
        return done(
          { lines: [...lines.slice(0, line), joined, ...lines.slice(line + 2)], line, column: row.length },
          true,
        );
      }
      case "~": {
        const letter = row.slice(column, after(row, column));
        const other = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();
        return done(
          withRow(row.slice(0, column) + other + row.slice(after(row, column)), after(row, column)),
          true,
        );
      }
      case "r":
        return { kind: "waits" };
      case "u":
        typed = "";
        return { kind: "undo" };
      case "\r":
        typed = "";
        return { kind: "send" };
      default:
        break;
    }
    if (keys.length > 1 && keys.startsWith("r"))
      return row === ""
        ? nothing(text)
        : done(withRow(row.slice(0, column) + keys.slice(1) + row.slice(after(row, column)), column), true);
    if ((keys === "k" && line === 0) || (keys === "j" && line === lines.length - 1)) {
      typed = "";
      return { kind: "history", by: keys === "k" ? "up" : "down" };
    }
    const place = motion(text, keys, count);
    if (place === "more") return { kind: "waits" };
    return place === null ? nothing(text) : done({ ...text, line: place.line, column: place.column });
  }

  return {
    isNormal: () => normal,
    /** `2d`: what was typed of a command so far. */
    pending: () => typed,
    toNormal(text: EditedText): EditedText {
      normal = true;
      typed = "";
      return { ...text, column: before(text.lines[text.line] ?? "", text.column) };
    },
    toInsert(): void {
      normal = false;
      typed = "";
    },
    /** A key of normal mode, as the letter that it types. */
    press(key: string, text: EditedText): VimStep {
      typed += key;
      const [, times = "", operator, more = "", keys = ""] = COMMAND.exec(typed) ?? [];
      const count = Math.min(9_999, Number(times || "1") * Number(more || "1"));
      if (operator !== undefined) return operate(text, operator as Operator, keys, count);
      return keys === "" ? { kind: "waits" } : command(text, keys, count);
    },
  };
}

const segments = (text: string) => [
  ...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text),
];

/** The beginning of the character after the one at a place; the end of the line at most. */
function after(line: string, column: number): number {
  const found = segments(line).find(({ index }) => index > column);
  return found?.index ?? line.length;
}

function before(line: string, column: number): number {
  return segments(line).findLast(({ index }) => index < column)?.index ?? 0;
}

/** The column of the last character: the rightmost cursor position in normal mode. */
const lastColumn = (line: string) => before(line, line.length);

const kindOf = (letter: string) =>
  /^\s*$/u.test(letter) ? "blank" : /[\p{L}\p{N}_]/u.test(letter) ? "word" : "sign";

function nextWord(lines: readonly string[], { line, column }: Place): Place {
  const row = lines[line] ?? "";
  let at = column;
  const kind = kindOf(row[at] ?? "");
  while (at < row.length && kind !== "blank" && kindOf(row[at] ?? "") === kind) at++;
  while (at < row.length && kindOf(row[at] ?? "") === "blank") at++;
  if (at < row.length || line === lines.length - 1) return { line, column: at };
  return { line: line + 1, column: Math.max(0, (lines[line + 1] ?? "").search(/\S/u)) };
}

function formerWord(lines: readonly string[], { line, column }: Place): Place {
  const row = lines[line] ?? "";
  let at = column - 1;
  while (at >= 0 && kindOf(row[at] ?? "") === "blank") at--;
  if (at < 0) {
    if (line === 0) return { line, column: 0 };
    const above = lines[line - 1] ?? "";
    return above === ""
      ? { line: line - 1, column: 0 }
      : formerWord(lines, { line: line - 1, column: above.length });
  }
  const kind = kindOf(row[at] ?? "");
  while (at > 0 && kindOf(row[at - 1] ?? "") === kind) at--;
  return { line, column: at };
}

function endOfWord(lines: readonly string[], { line, column }: Place): Place {
  const row = lines[line] ?? "";
  let at = column + 1;
  while (at < row.length && kindOf(row[at] ?? "") === "blank") at++;
  if (at >= row.length) {
    if (line === lines.length - 1) return { line, column: lastColumn(row) };
    return endOfWord(lines, { line: line + 1, column: -1 });
  }
  const kind = kindOf(row[at] ?? "");
  while (at + 1 < row.length && kindOf(row[at + 1] ?? "") === kind) at++;
  return { line, column: at };
}

/** The word at the cursor, or the blanks; `isWide`: the blanks behind it too. */
function wordAround({ lines, line, column }: EditedText, isWide: boolean): Stretch {
  const row = lines[line] ?? "";
  const kind = kindOf(row[column] ?? "");
  let [from, to] = [column, column];
  while (from > 0 && kindOf(row[from - 1] ?? "") === kind) from--;
  while (to < row.length && kindOf(row[to] ?? "") === kind) to++;
  while (isWide && to < row.length && kindOf(row[to] ?? "") === "blank") to++;
  return { from: { line, column: from }, to: { line, column: to }, isLines: false };
}

function cutOut(lines: readonly string[], from: Place, to: Place): string {
  if (from.line === to.line) return (lines[from.line] ?? "").slice(from.column, to.column);
  return [
    (lines[from.line] ?? "").slice(from.column),
    ...lines.slice(from.line + 1, to.line),
    (lines[to.line] ?? "").slice(0, to.column),
  ].join("\n");
}

function withoutStretch(lines: readonly string[], from: Place, to: Place): string[] {
  const joined = (lines[from.line] ?? "").slice(0, from.column) + (lines[to.line] ?? "").slice(to.column);
  return [...lines.slice(0, from.line), joined, ...lines.slice(to.line + 1)];
}
