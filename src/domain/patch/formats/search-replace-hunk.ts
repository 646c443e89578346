import type { Hunk, HunkLine } from "../edit.ts";
import { toBytesText } from "../match/bytes.ts";
import type { Range } from "./search-replace-block.ts";
import { UnreadHunk } from "./unread-hunk.ts";

const MAX_TABLE = 40_000;

/** The two texts of a block, a hunk when it is asked for its lines. */
export class SearchReplaceHunk extends UnreadHunk implements Hunk {
  constructor(
    private readonly text: string,
    private readonly search: Range,
    private readonly replace: Range,
    readonly oldStart: number | undefined,
  ) {
    super();
  }

  protected read(): readonly HunkLine[] {
    return compare(linesIn(this.text, this.search), linesIn(this.text, this.replace));
  }
}

function linesIn(text: string, { from, end }: Range): string[] {
  if (from >= end) return [];
  const lines = toBytesText(text.slice(from, end)).split("\n");
  lines.pop();
  return lines.map((each) => (each.endsWith("\r") ? each.slice(0, -1) : each));
}

/** Lines in both are context, so that the file's own bytes stay there. */
function compare(search: readonly string[], replace: readonly string[]): HunkLine[] {
  let head = 0;
  while (head < search.length && head < replace.length && search[head] === replace[head]) head++;
  let tail = 0;
  const most = Math.min(search.length, replace.length) - head;
  while (tail < most && search[search.length - 1 - tail] === replace[replace.length - 1 - tail]) tail++;
  return [
    ...search.slice(0, head).map((text) => line(" ", text)),
    ...difference(search.slice(head, search.length - tail), replace.slice(head, replace.length - tail)),
    ...search.slice(search.length - tail).map((text) => line(" ", text)),
  ];
}

function line(tag: HunkLine["tag"], text: string): HunkLine {
  return { tag, text, eol: "\n" };
}

/** By the longest common subsequence; texts too long for that are taken as replaced altogether. */
function difference(from: readonly string[], to: readonly string[]): HunkLine[] {
  if (from.length * to.length > MAX_TABLE) {
    return [...from.map((text) => line("-", text)), ...to.map((text) => line("+", text))];
  }
  const width = to.length + 1;
  const common = new Uint16Array((from.length + 1) * width);
  for (let i = from.length - 1; i >= 0; i--) {
    for (let k = to.length - 1; k >= 0; k--) {
      common[i * width + k] =
        from[i] === to[k]
          ? common[(i + 1) * width + k + 1]! + 1
          : Math.max(common[(i + 1) * width + k]!, common[i * width + k + 1]!);
    }
  }
  const lines: HunkLine[] = [];
  let i = 0;
  let k = 0;
  while (i < from.length || k < to.length) {
    if (i < from.length && k < to.length && from[i] === to[k]) {
      lines.push(line(" ", from[i++]!));
      k++;
    } else if (
      k >= to.length ||
      (i < from.length && common[(i + 1) * width + k]! >= common[i * width + k + 1]!)
    ) {
      lines.push(line("-", from[i++]!));
    } else lines.push(line("+", to[k++]!));
  }
  return lines;
}
