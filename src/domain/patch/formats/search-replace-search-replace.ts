import type { PatchCommand } from "../command.ts";
import type { Hunk, HunkLine } from "../patch-command.ts";
import { toBytesText } from "../patch-text.ts";
import type { ParseFailure } from "../parse-error.ts";
import { createLineCounter, lineAfter } from "../line-offsets.ts";
import { UnreadHunk } from "../unread-hunk.ts";
import { pathAbove, readSearchBlock, startOfBlock, type TextRange } from "./search-replace.ts";

/**
 * SEARCH/REPLACE blocks. Each block is one command; one without a path of its own continues the file of the
 * block before it. What stands between blocks is prose. An empty SEARCH creates the file.
 */
export type SearchReplaceParse =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const MAX_TABLE = 40_000;
const METADATA = { format: "search-replace" } as const;

/** `above` is prose that stands before the text and may name the file of its first block. */
export function parseSearchReplace(text: string, above = ""): SearchReplaceParse {
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(text);
  let path: string | null = null;
  let proseFrom = 0;
  for (let at = 0, next = at; at < text.length; at = next) {
    next = lineAfter(text, at);
    const start = startOfBlock(text, at);
    if (start === null) continue;
    const fail = (message: string): SearchReplaceParse => {
      const line = createLineCounter(text)(at);
      const failure = { message: `${message} (line ${line})`, line, index: commands.length };
      return { ok: false, failure: { code: "invalid-block", ...failure } };
    };
    path = blockPath(text, proseFrom, at, above) ?? path;
    if (path === null) return fail("the block has no file name above it");
    const block = readSearchBlock(text, at, start);
    if (!block.ok) return fail(block.message);
    const { search, replace, startLine } = block;
    if (search.from === search.end && replace.from === replace.end)
      return fail("SEARCH and REPLACE are both empty");
    if (block.leavesOutAt !== undefined)
      warnings.push(
        `line ${lineOf(block.leavesOutAt)}: a second '=======' ends the block; what stands between it and '>>>>>>> REPLACE' is not used`,
      );
    const hunk = new SearchReplaceHunk(text, search, replace, startLine);
    commands.push({
      type: "file_edit",
      action: "update",
      target: path,
      content: withoutCr(text.slice(at, block.next)),
      metadata: METADATA,
      edit: { kind: "search-replace", path, hunk },
    });
    proseFrom = block.next;
    next = block.next;
  }
  if (commands.length === 0) {
    return {
      ok: false,
      failure: { code: "not-a-patch", message: "no SEARCH/REPLACE block in the text", line: 1 },
    };
  }
  return { ok: true, commands, warnings };
}

function blockPath(text: string, from: number, at: number, above: string): string | null {
  if (from > 0 || above === "") return pathAbove(text, from, at);
  const prose = `${above}\n${text.slice(0, at)}`;
  return pathAbove(prose, 0, prose.length);
}

/** Without carriage returns before line ends, and without the last line end. */
function withoutCr(block: string): string {
  const plain = block.includes("\r") ? block.replaceAll("\r\n", "\n").replace(/\r$/, "") : block;
  return plain.endsWith("\n") ? plain.slice(0, -1) : plain;
}

/** The two texts of a block, a hunk when it is asked for its lines. */
class SearchReplaceHunk extends UnreadHunk implements Hunk {
  constructor(
    private readonly text: string,
    private readonly search: TextRange,
    private readonly replace: TextRange,
    readonly oldStart: number | undefined,
  ) {
    super();
  }

  protected read(): readonly HunkLine[] {
    return compareSides(linesIn(this.text, this.search), linesIn(this.text, this.replace));
  }
}

function linesIn(text: string, { from, end }: TextRange): string[] {
  if (from >= end) return [];
  const lines = toBytesText(text.slice(from, end)).split("\n");
  lines.pop();
  return lines.map((each) => (each.endsWith("\r") ? each.slice(0, -1) : each));
}

/** Lines in both are context, so that the file's own bytes stay there. */
function compareSides(search: readonly string[], replace: readonly string[]): HunkLine[] {
  let head = 0;
  while (head < search.length && head < replace.length && search[head] === replace[head]) head++;
  let tail = 0;
  const most = Math.min(search.length, replace.length) - head;
  while (tail < most && search[search.length - 1 - tail] === replace[replace.length - 1 - tail]) tail++;
  return [
    ...search.slice(0, head).map((text) => hunkLine(" ", text)),
    ...lineDifference(search.slice(head, search.length - tail), replace.slice(head, replace.length - tail)),
    ...search.slice(search.length - tail).map((text) => hunkLine(" ", text)),
  ];
}

function hunkLine(tag: HunkLine["tag"], text: string): HunkLine {
  return { tag, text, eol: "\n" };
}

/** By the longest common subsequence; texts too long for that are taken as replaced altogether. */
function lineDifference(from: readonly string[], to: readonly string[]): HunkLine[] {
  if (from.length * to.length > MAX_TABLE) {
    return [...from.map((text) => hunkLine("-", text)), ...to.map((text) => hunkLine("+", text))];
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
      lines.push(hunkLine(" ", from[i++]!));
      k++;
    } else if (
      k >= to.length ||
      (i < from.length && common[(i + 1) * width + k]! >= common[i * width + k + 1]!)
    ) {
      lines.push(hunkLine("-", from[i++]!));
    } else lines.push(hunkLine("+", to[k++]!));
  }
  return lines;
}
