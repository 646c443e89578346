import { isAscii, readableText, toBytesText, trimBlank, trimEndBlank } from "../platform/bytes-text.ts";
import type { HunkLine } from "./patch-command.ts";

/** The steps left for matching one patch. A step is about one line compared or some hundred characters scanned. */
export interface WorkBudget {
  left: number;
}

/** Any patch may do as much, however short. */
const LEAST_STEPS = 500_000;
/** For each line of the patch and of the files that it changes. */
const STEPS_PER_LINE = 25;
const HINT_STEPS = 200_000;

/** False once the budget is spent. */
export function spendBudget(budget: WorkBudget, steps: number): boolean {
  budget.left -= steps;
  return budget.left > 0;
}

/** The work on one patch grows with the lines of patch and files, not their product; unchanged lines are indexed once. */
export class Matching {
  readonly budget: WorkBudget;
  /** For showing where failed edits may have been meant; spent, it takes nothing from the search. */
  private readonly hints: WorkBudget = { left: HINT_STEPS };
  /** Failed edits that were shown where they may have been meant. */
  suggested = 0;
  private readonly admitted = new Map<string, number>();
  private read: { readonly bytes: Uint8Array; readonly text: string } | null = null;
  private kept: { readonly path: string; readonly file: TextLines; readonly index: LineIndex } | null = null;

  constructor(steps = LEAST_STEPS) {
    this.budget = { left: steps };
  }

  /** The text of a file's bytes; of those that the patch read last, it is known. */
  readText(bytes: Uint8Array): string {
    if (this.read?.bytes !== bytes) this.read = { bytes, text: toBytesText(bytes) };
    return this.read.text;
  }

  /** The lines of a text; of the file that was opened last, they are known. */
  divide(text: string): TextLines {
    const known = this.kept?.file;
    return known?.loneCr === false && known.text === text ? known : new TextLines(text);
  }

  /** A file as it is now, with lines that count once for the patch. */
  open(
    path: string,
    file: TextLines,
    hunks: readonly { readonly lines: readonly HunkLine[] }[],
  ): MatchTarget {
    const before = this.admitted.get(path) ?? 0;
    const lines = hunks.reduce((sum, hunk) => sum + hunk.lines.length, Math.max(0, file.count - before));
    this.admitted.set(path, Math.max(before, file.count));
    this.budget.left += lines * STEPS_PER_LINE;
    const same = this.kept?.path === path && this.kept.file.isSame(file);
    const kept = same && this.kept ? this.kept : { path, file, index: new LineIndex(file, this.budget) };
    this.kept = kept;
    return new MatchTarget(kept.file, kept.index, this.budget, this.hints);
  }
}

/** A file's bytes text with its line starts; the unit everything is matched on. Lines are 0-based in here. */
export class TextLines {
  /** Offset of every line, and the text's length as last element. */
  readonly starts: readonly number[];
  readonly count: number;
  private texts: string[] | null = null;
  private dominant: string | null = null;
  private ascii: boolean | null = null;
  private mixed: boolean | null = null;

  /** `loneCr`: a carriage return alone ends a line as well (old Macintosh files, mixed files). */
  constructor(
    readonly text: string,
    readonly loneCr = false,
  ) {
    this.starts = this.loneCr ? startsWithLoneCr(text) : lineStarts(text);
    this.count = this.starts.length - 1;
  }

  isSame(other: TextLines): boolean {
    return this.loneCr === other.loneCr && this.text === other.text;
  }

  /** A carriage return alone may end some of its lines. */
  hasLoneCr(): boolean {
    this.mixed ??= /\r(?!\n)/.test(this.text);
    return this.mixed;
  }

  /** It cannot contain a look-alike. */
  isAscii(): boolean {
    this.ascii ??= isAscii(this.text);
    return this.ascii;
  }

  /** Without line ends. */
  lines(): readonly string[] {
    if (this.texts === null) {
      this.texts = new Array<string>(this.count);
      for (let i = 0; i < this.count; i++) this.texts[i] = this.line(i);
    }
    return this.texts;
  }

  /** One line, without its end. */
  line(at: number): string {
    return this.text.slice(this.starts[at]!, this.starts[at + 1]! - this.eol(at).length);
  }

  eol(line: number): string {
    const start = this.starts[line]!;
    const end = this.starts[line + 1]!;
    const last = end > start ? this.text.charCodeAt(end - 1) : 0;
    if (last === 13) return this.loneCr ? "\r" : "";
    if (last !== 10) return "";
    return end - 2 >= start && this.text.charCodeAt(end - 2) === 13 ? "\r\n" : "\n";
  }

  endsLine(text: string): boolean {
    return text.endsWith("\n") || (this.loneCr && text.endsWith("\r"));
  }

  /** The most frequent line end; on a tie the first one. "" if no line has one. */
  mainEol(): string {
    if (this.dominant !== null) return this.dominant;
    const counts = new Map<string, number>();
    for (let i = 0; i < this.count; i++) {
      const eol = this.eol(i);
      if (eol !== "") counts.set(eol, (counts.get(eol) ?? 0) + 1);
    }
    let best = "";
    for (const [eol, count] of counts) if (best === "" || count > counts.get(best)!) best = eol;
    this.dominant = best;
    return best;
  }

  lineWith(offset: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle + 1]! <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Some lines unchanged, for display. */
  excerpt(line: number, count: number): string {
    return this.lines()
      .slice(line, line + count)
      .join("\n");
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

function startsWithLoneCr(text: string): number[] {
  const starts = [0];
  for (const found of text.matchAll(/\r\n|\n|\r/g)) starts.push(found.index + found[0].length);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

/** The rungs on which lines are compared by a key; `exact` compares bytes, and `drift` builds on `indent`. */
export type KeyRung = "whitespace" | "look-alike" | "indent";

/** `ascii`: known to have no look-alikes. */
export function lineKey(rung: KeyRung, text: string, ascii = false): string {
  switch (rung) {
    case "whitespace":
      return trimEndBlank(text);
    case "look-alike":
      return foldLookAlikes(trimEndBlank(text), ascii);
    case "indent":
      return trimBlank(foldLookAlikes(text, ascii));
  }
}

/** A significant line: brackets alone occur in many places by chance. */
export const SIGNIFICANT = /[\w\x80-\xff][\s\S]*[\w\x80-\xff]/;

export function isTelling(lines: readonly HunkLine[]): boolean {
  return lines.some((line) => SIGNIFICANT.test(line.text));
}

/** Characters that models exchange for one another, folded to their ASCII form. */
const FOLDS: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc]/g, "'"],
  [/[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb]/g, '"'],
  [/[\u2010-\u2015\u2212\ufe58\ufe63]/g, "-"],
  [/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/[\u200b-\u200d\u2060\ufeff\u00ad]/g, ""],
  [/\u2026/g, "..."],
];

/** Bytes text in, a key to compare out. Text that is not UTF-8 stays as it is: unlike bytes must never look alike. */
function foldLookAlikes(bytesText: string, ascii: boolean): string {
  if (ascii || isAscii(bytesText)) return bytesText;
  let text = readableText(bytesText);
  if (text.includes("\ufffd")) return bytesText;
  for (const [pattern, to] of FOLDS) text = text.replace(pattern, to);
  text = text.replace(/[\uff01-\uff5e]/g, (ch) => String.fromCharCode(ch.charCodeAt(0) - 0xfee0));
  return trimEndBlank(text.normalize("NFC"));
}

/** Lines among which those that match are found, and the corresponding line of the pattern. */
interface Candidates {
  readonly places: readonly number[];
  readonly at: number;
}

/** A line that occurs more often is looked up, with all others, in an index. */
const MOST_SCANNED = 1_000;
/** A file that is searched more often is indexed, which takes about as long as these searches. */
const MOST_SCANS = 12;
export const SCANNED_IN_STEP = 400;
/** Of a line, as much is searched for. */
const LONGEST_NEEDLE = 200;

/** The lines of a file by key, each made on its first use. */
export class LineIndex {
  private readonly keysOf = new Map<KeyRung, (string | undefined)[]>();
  private readonly placesOf = new Map<KeyRung, ReadonlyMap<string, readonly number[]>>();
  private readonly scanned = new Map<string, readonly number[]>();

  constructor(
    private readonly file: TextLines,
    private readonly budget: WorkBudget,
  ) {}

  /** Undefined beyond the file. */
  key(rung: KeyRung, line: number): string | undefined {
    return this.readKeys(rung, line, line + 1)[line];
  }

  keys(rung: KeyRung): readonly string[] {
    return this.readKeys(rung, 0, this.file.count) as string[];
  }

  private readKeys(rung: KeyRung, from: number, end: number): readonly (string | undefined)[] {
    const { file, budget } = this;
    let keys = this.keysOf.get(rung);
    if (keys === undefined) {
      keys = new Array<string | undefined>(file.count).fill(undefined);
      this.keysOf.set(rung, keys);
    }
    for (let line = Math.max(0, from); line < end && line < file.count; line++) {
      if (keys[line] !== undefined) continue;
      spendBudget(budget, 1);
      keys[line] = lineKey(rung, file.line(line), file.isAscii());
    }
    return keys;
  }

  places(rung: KeyRung, key: string): readonly number[] {
    let places = this.placesOf.get(rung);
    if (places === undefined) {
      const made = new Map<string, number[]>();
      spendBudget(this.budget, this.file.count);
      this.keys(rung).forEach((lineKey, line) => {
        const list = made.get(lineKey);
        if (list === undefined) made.set(lineKey, [line]);
        else list.push(line);
      });
      places = made;
      this.placesOf.set(rung, places);
    }
    return places.get(key) ?? [];
  }

  /** Whether it is known, without a search, that no line has this key. */
  lacks(rung: KeyRung, key: string): boolean {
    const places = this.placesOf.get(rung);
    return places !== undefined && !places.has(key);
  }

  /** Every line at which the pattern of keys may match, by the rarest of its lines; limited to `among` if given. */
  starts(rung: KeyRung, pattern: readonly string[], among?: readonly number[]): number[] {
    const found = this.scan(rung, pattern, among) ?? this.lookUp(rung, pattern, among);
    return found.places.map((place) => place - found.at);
  }

  /** Every line at which the pattern of keys matches. */
  findAll(rung: KeyRung, pattern: readonly string[]): number[] {
    return this.starts(rung, pattern).filter((start) => this.fitsAt(rung, pattern, start));
  }

  fitsAt(rung: KeyRung, pattern: readonly string[], start: number): boolean {
    if (this.budget.left <= 0 || start < 0 || start + pattern.length > this.file.count) return false;
    let same = 0;
    while (same < pattern.length && this.key(rung, start + same) === pattern[same]) same++;
    spendBudget(this.budget, same + 1);
    return same === pattern.length;
  }

  /** By the longest line, in the text as it is. Null where that says too little, or an index exists. */
  private scan(rung: KeyRung, pattern: readonly string[], among?: readonly number[]): Candidates | null {
    if (this.placesOf.has(rung) || (rung !== "whitespace" && !this.file.isAscii())) return null;
    if (this.scanned.size >= MOST_SCANS) return null;
    let at = among?.[0] ?? 0;
    for (const i of among ?? pattern.keys()) if (pattern[i]!.length > pattern[at]!.length) at = i;
    const needle = (pattern[at] ?? "").slice(0, LONGEST_NEEDLE);
    if (needle === "") return null;
    const known = this.scanned.get(needle);
    if (known !== undefined) return { places: known, at };
    const { text } = this.file;
    const places: number[] = [];
    spendBudget(this.budget, 1 + text.length / SCANNED_IN_STEP);
    for (let from = text.indexOf(needle); from >= 0; ) {
      const line = this.file.lineWith(from);
      if (places.push(line) > MOST_SCANNED) return null;
      from = text.indexOf(needle, this.file.starts[line + 1]!);
    }
    this.scanned.set(needle, places);
    return { places, at };
  }

  private lookUp(rung: KeyRung, pattern: readonly string[], among?: readonly number[]): Candidates {
    let at = 0;
    let best: readonly number[] | null = null;
    for (const i of among ?? pattern.keys()) {
      const places = this.places(rung, pattern[i]!);
      spendBudget(this.budget, 1);
      if (places.length === 0) return { places, at };
      if (best === null || places.length < best.length) {
        best = places;
        at = i;
      }
    }
    return { places: best ?? [], at };
  }
}

const DELETED = 1;
const PLACED = 2;
const INSERTED = 4;

/** A file while its hunks are being placed: lines are those before the edit, with marks of what is taken. */
export class MatchTarget {
  private readonly marks: Uint8Array;
  private isTaken = false;

  constructor(
    readonly file: TextLines,
    readonly index: LineIndex,
    readonly budget: WorkBudget,
    readonly hints: WorkBudget,
  ) {
    this.marks = new Uint8Array(file.count + 1);
  }

  /** git's rule: no line of an earlier hunk, context included, may match again. */
  untouched(line: number, count: number): boolean {
    if (!this.isTaken) return true;
    spendBudget(this.budget, count);
    for (let i = line; i < line + count; i++) if ((this.marks[i]! & (DELETED | PLACED)) !== 0) return false;
    return true;
  }

  /** Our rule: contexts may overlap, changes may not. */
  free(line: number, lines: readonly HunkLine[]): boolean {
    if (!this.isTaken) return true;
    spendBudget(this.budget, lines.length);
    for (const { at, remove, inserts, context } of lineRuns(line, lines)) {
      if (context && (this.marks[at]! & DELETED) !== 0) return false;
      for (let i = at; i < at + remove; i++) {
        if ((this.marks[i]! & DELETED) !== 0 || (i > at && (this.marks[i]! & INSERTED) !== 0)) return false;
      }
      if (inserts && remove === 0 && ((this.marks[at]! & INSERTED) !== 0 || this.isInside(at))) return false;
    }
    return true;
  }

  take(line: number, lines: readonly HunkLine[]): void {
    this.isTaken = true;
    for (const { at, remove, inserts, context } of lineRuns(line, lines)) {
      if (context) this.marks[at]! |= PLACED;
      for (let i = at; i < at + remove; i++) this.marks[i]! |= DELETED | PLACED;
      if (inserts && remove === 0) this.marks[at]! |= INSERTED;
    }
  }

  /** Between two lines that go. */
  private isInside(line: number): boolean {
    return line > 0 && (this.marks[line - 1]! & DELETED) !== 0 && (this.marks[line]! & DELETED) !== 0;
  }
}

/** The effect of a hunk on the lines of the file: a line of context, or a run of removed and added lines. */
interface LineRun {
  readonly at: number;
  readonly remove: number;
  readonly inserts: boolean;
  readonly context: boolean;
}

function* lineRuns(line: number, lines: readonly HunkLine[]): Generator<LineRun> {
  let at = line;
  let remove = 0;
  let inserts = false;
  for (const { tag } of lines) {
    if (tag === "+") inserts = true;
    else if (tag === "-") remove++;
    else {
      if (inserts || remove > 0) yield { at, remove, inserts, context: false };
      at += remove;
      yield { at: at++, remove: 0, inserts: false, context: true };
      remove = 0;
      inserts = false;
    }
  }
  if (inserts || remove > 0) yield { at, remove, inserts, context: false };
}
