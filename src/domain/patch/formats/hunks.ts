import type { Hunk, HunkLine } from "../patch-command.ts";
import { toBytesText } from "../patch-text.ts";
import { lineAfter, lineAt } from "../line-offsets.ts";
import { UnreadHunk } from "../unread-hunk.ts";

const END_OF_FILE = "*** End of File";
const STAR = 42;

/** Collects the hunks of one `*** Update File`. Several `@@` lines in a row are anchors from the outside in. */
export class V4aHunks {
  private readonly hunks: Hunk[] = [];
  private from: number;
  /** Where the lines end that are more than blank ones at the end, and how many of those there are. */
  private solidEnd: number;
  private blanks = 0;
  private changes = false;
  private anchors: string[] = [];
  private oldStart: number | undefined;
  /** Lines that carried no marker. */
  unmarked = 0;

  /** The body of the operation is `from … end` of the text; every line in it ends with a line feed. */
  constructor(
    private readonly text: string,
    from: number,
    private readonly end: number,
  ) {
    this.from = from;
    this.solidEnd = from;
  }

  read(): readonly Hunk[] {
    let next = 0;
    for (let at = this.from; at < this.end; at = next) {
      next = lineAfter(this.text, at);
      this.take(at, next);
    }
    this.close(this.end, false);
    return this.hunks;
  }

  private take(at: number, next: number): void {
    const tag = this.text.charAt(at);
    if (tag === "+" || tag === "-") {
      this.changes = true;
      this.takeSolid(next);
    } else if (this.text.startsWith("@@", at)) {
      if (at > this.from) this.close(at, false);
      this.takeAnchor(lineAt(this.text, at));
      this.from = next;
      this.solidEnd = next;
    } else if (tag === "\n" || (tag === " " && next === at + 2)) this.blanks++;
    else if (isEndOfFile(this.text, at, next)) {
      this.close(at, true);
      this.from = next;
      this.solidEnd = next;
    } else {
      if (tag !== " ") this.unmarked++;
      this.takeSolid(next);
    }
  }

  private takeSolid(next: number): void {
    this.solidEnd = next;
    this.blanks = 0;
  }

  private takeAnchor(line: string): void {
    const numbered = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$/.exec(line);
    if (numbered) this.oldStart = Math.max(1, Number(numbered[1]));
    const text = (numbered ? numbered[2]! : line.slice(2).replace(/@@\s*$/, "")).trim();
    if (text !== "" && text !== "...") this.anchors.push(toBytesText(text));
  }

  /** Empty lines at the end stand between hunks; a hunk without a change is dropped. */
  private close(end: number, atEnd: boolean): void {
    if (this.changes) {
      const keep = this.blanks > 1 ? this.solidEnd : end;
      this.hunks.push(new V4aHunk(this.text, this.from, keep, this.oldStart, this.anchors, atEnd));
    }
    this.blanks = 0;
    this.changes = false;
    if (this.anchors.length > 0) this.anchors = [];
    this.oldStart = undefined;
  }
}

class V4aHunk extends UnreadHunk implements Hunk {
  readonly anchors: readonly string[] | undefined;
  readonly atEnd: boolean | undefined;

  constructor(
    private readonly text: string,
    private readonly from: number,
    private readonly end: number,
    readonly oldStart: number | undefined,
    anchors: readonly string[],
    atEnd: boolean,
  ) {
    super();
    this.anchors = anchors.length === 0 ? undefined : anchors;
    this.atEnd = atEnd || undefined;
  }

  protected read(): readonly HunkLine[] {
    const lines = toBytesText(this.text.slice(this.from, this.end)).split("\n");
    lines.pop();
    return lines.map((line): HunkLine => {
      const tag = line.charAt(0);
      if (tag === "+" || tag === "-") return { tag, text: line.slice(1), eol: "\n" };
      return { tag: " ", text: tag === " " ? line.slice(1) : line, eol: "\n" };
    });
  }
}

/** Only a line that may be the marker is cut out to be looked at. */
function isEndOfFile(text: string, at: number, next: number): boolean {
  let start = at;
  while (start < next && text.charCodeAt(start) <= 32) start++;
  const first = text.charCodeAt(start);
  return (first === STAR || first > 127) && text.slice(at, next).trim() === END_OF_FILE;
}
