import type { HunkLine } from "../edit.ts";
import { isAscii } from "./bytes.ts";
import { LineIndex } from "./line-index.ts";
import type { TextLines } from "./text-lines.ts";
import type { WorkBudget } from "./work-budget.ts";

const DELETED = 1;
const PLACED = 2;
const INSERTED = 4;

/** A file while its hunks are being placed: lines are those before the edit, with marks of what is taken. */
export class Target {
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
    let at = line;
    let inserted = false;
    for (const { tag } of lines) {
      if (tag === "+") {
        if (!inserted && (this.marks[at]! & INSERTED) !== 0) return false;
        inserted = true;
      } else {
        if ((this.marks[at]! & DELETED) !== 0) return false;
        at++;
        inserted = false;
      }
    }
    return true;
  }

  take(line: number, lines: readonly HunkLine[]): void {
    let at = line;
    for (const { tag } of lines) {
      if (tag === "+") this.marks[at]! |= INSERTED;
      else this.marks[at++]! |= tag === "-" ? DELETED | PLACED : PLACED;
    }
  }
}
