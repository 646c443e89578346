import type { Hunk, HunkLine } from "../edit.ts";
import { toBytesText } from "../match/bytes.ts";

/** Collects the hunks of one `*** Update File`. Several `@@` lines in a row are anchors from the outside in. */
export class V4aHunks {
  private readonly hunks: Hunk[] = [];
  private lines: HunkLine[] = [];
  private anchors: string[] = [];
  private oldStart: number | undefined;
  /** Lines that carried no marker. */
  unmarked = 0;

  take(line: string): void {
    if (line.startsWith("@@")) this.takeAnchor(line);
    else if (line.trim() === "*** End of File") this.close(true);
    else {
      const tag = line.charAt(0);
      const marked = tag === "+" || tag === "-" || tag === " ";
      if (!marked && line !== "") this.unmarked++;
      const text = toBytesText(marked ? line.slice(1) : line);
      this.lines.push({ tag: tag === "+" || tag === "-" ? tag : " ", text, eol: "\n" });
    }
  }

  finish(): readonly Hunk[] {
    this.close(false);
    return this.hunks;
  }

  private takeAnchor(line: string): void {
    if (this.lines.length > 0) this.close(false);
    const numbered = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$/.exec(line);
    if (numbered) this.oldStart = Math.max(1, Number(numbered[1]));
    const text = (numbered ? numbered[2]! : line.slice(2).replace(/@@\s*$/, "")).trim();
    if (text !== "" && text !== "...") this.anchors.push(toBytesText(text));
  }

  /** Empty lines at the end stand between hunks; a hunk without a change is dropped. */
  private close(atEnd: boolean): void {
    let end = this.lines.length;
    while (end > 0 && this.lines[end - 1]!.tag === " " && this.lines[end - 1]!.text === "") end--;
    const keep = this.lines.length - end > 1 ? end : this.lines.length;
    const lines = this.lines.slice(0, keep);
    if (lines.some((line) => line.tag !== " ")) {
      this.hunks.push({
        lines,
        ...(this.oldStart === undefined ? {} : { oldStart: this.oldStart }),
        ...(this.anchors.length === 0 ? {} : { anchors: this.anchors }),
        ...(atEnd ? { atEnd } : {}),
      });
    }
    this.lines = [];
    this.anchors = [];
    this.oldStart = undefined;
  }
}
