import type { HunkLine } from "./patch-command.ts";
import { isAscii } from "./patch-text.ts";
import { LineIndex } from "./target-lines.ts";
import type { TextLines } from "./text-lines.ts";
import type { WorkBudget } from "./work-budget.ts";

const DELETED = 1;
const PLACED = 2;
const INSERTED = 4;

/** A file while its hunks are being placed: lines are those before the edit, with marks of what is taken. */
export class MatchTarget {
  readonly index: LineIndex;
  private readonly marks: Uint8Array;
  private ascii: boolean | null = null;

  constructor(
    readonly file: TextLines,
    readonly budget: WorkBudget,
  ) {
    this.index = new LineIndex(file.lines.bind(file));
    this.marks = new Uint8Array(file.count + 1);
  }

  /** No look-alike can stand in it. */
  isAscii(): boolean {
    this.ascii ??= isAscii(this.file.text);
    return this.ascii;
  }

  /** git's rule: no line of an earlier hunk, context included, may match again. */
  untouched(line: number, count: number): boolean {
    for (let i = line; i < line + count; i++) if ((this.marks[i]! & (DELETED | PLACED)) !== 0) return false;
    return true;
  }

  /** Our rule: contexts may overlap, changes may not. */
  free(line: number, lines: readonly HunkLine[]): boolean {
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

/** What a hunk does line by line of the file: a line of context, or a run of lines that go and come. */
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
