import { createLineCounter, lineAfter, lineAt, toBytesText } from "../../platform/bytes-text.ts";
import { compareLines } from "../compare-lines.ts";
import {
  type Hunk,
  type HunkLine,
  type ParseFailure,
  type PatchCommand,
  type PatchItem,
  UnreadHunk,
} from "../patch-command.ts";
import {
  type EmbeddedFormat,
  type EmbeddedRead,
  isFenceMark,
  LONGEST_MARK,
  lineEnd,
  linesOf,
  nextLine,
  shiftLines,
} from "./embedded-format.ts";

/** Finds the parts of one block. Marks of five to nine characters count; where lengths differ, equal ones belong together. */
type SearchBlockRead =
  | {
      readonly ok: true;
      readonly search: TextRange;
      readonly replace: TextRange;
      /** 1-based line of the file, where the block says one. */
      readonly startLine?: number;
      /** Where the second divider ends the block although more text precedes its closing mark. */
      readonly leavesOutAt?: number;
      /** After the closing mark's line. */
      readonly next: number;
    }
  /** `wrong`: where the line begins that is not as it has to be. */
  | { readonly ok: false; readonly message: string; readonly wrong: number };

/** Whole lines of the text, by offset. */
interface TextRange {
  readonly from: number;
  readonly end: number;
}

const SEARCH_MARK = /^(<{5,9}|-{5,9}) ?SEARCH>?[ \t]*\r?$/;
const DIVIDER_MARK = /^(={5,9})[ \t]*\r?$/;
const REPLACE_MARK = /^(>{5,9}|\+{5,9}) ?REPLACE[ \t]*\r?$/;

const MARKS = [SEARCH_MARK, DIVIDER_MARK, REPLACE_MARK];

const LINES_ABOVE = 4;
const FENCE = /^\s*(`{3,}|~{3,})\s*(.*)$/;
const BARE_NAMES =
  /^(Makefile|Dockerfile|Containerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile|LICENSE|README|CHANGELOG|CODEOWNERS|\.[\w.-]+)$/;

/**
 * `at` is the opening mark, of that length. Text that holds dividers of its own holds them on both sides, so of an odd
 * number the middle one divides. Of an even number the first divides and the second ends the block, also where the
 * closing mark is missing: models write it in that mark's place.
 */
function readSearchBlock(text: string, at: number, length: number): SearchBlockRead {
  const from = lineAfter(text, at);
  const close = blockEnd(text, from, length);
  const end = close < 0 ? nextBlock(text, from) : close;
  const hints = readHints(text, from, end);
  const dividers = dividersIn(text, hints.from, end, length);
  const [first, second] = dividers;
  const fail = (message: string) =>
    ({ ok: false, message, wrong: strayMark(text, from, end) ?? end }) as const;
  if (close < 0 && second === undefined)
    return fail("the block has no '>>>>>>> REPLACE'; the patch may have been cut off");
  if (first === undefined)
    return fail(
      "the block has no '======='; use longer marks (up to nine characters) around text that holds them",
    );
  const parts = { ...(hints.startLine === undefined ? {} : { startLine: hints.startLine }) };
  if (second !== undefined && (close < 0 || dividers.length % 2 === 0)) {
    const unused = close < 0 ? "" : text.slice(lineAfter(text, second), close);
    return {
      ok: true,
      search: { from: hints.from, end: first },
      replace: { from: lineAfter(text, first), end: second },
      ...parts,
      ...(unused.trim() === "" ? {} : { leavesOutAt: second }),
      next: lineAfter(text, close < 0 ? second : close),
    };
  }
  const middle = dividers[(dividers.length - 1) / 2]!;
  return {
    ok: true,
    search: { from: hints.from, end: middle },
    replace: { from: lineAfter(text, middle), end },
    ...parts,
    next: lineAfter(text, end),
  };
}

/** A line that looks like a mark and is none: of another length, indented, or with words behind it. */
function strayMark(text: string, from: number, end: number): number | undefined {
  for (let at = from; at < end; at = lineAfter(text, at))
    if (
      /^[ \t]*(?:[<>=]{3,}|[+-]{5,} ?(?:SEARCH|REPLACE)\b)/.test(lineAt(text, at)) &&
      !MARKS.some((mark) => mark.test(lineAt(text, at)))
    )
      return at;
  return undefined;
}

/** Where the next block opens; the end of the text after the last one. */
function nextBlock(text: string, from: number): number {
  let at = from;
  while (at < text.length && searchMark(text, at) === 0) at = lineAfter(text, at);
  return at;
}

/** The closing mark of the same length, before another block of that length opens; else the first of any length. */
function blockEnd(text: string, from: number, length: number): number {
  let other = -1;
  for (let at = from; at < text.length; at = lineAfter(text, at)) {
    const found = endMark(text, at);
    if (found === length) return at;
    if (found !== undefined && other < 0) other = at;
    if (searchMark(text, at) === length) break;
  }
  return other;
}

function endMark(text: string, at: number): number | undefined {
  if (!text.startsWith(">>>>>", at) && !text.startsWith("+++++", at)) return undefined;
  return REPLACE_MARK.exec(lineAt(text, at))?.[1]?.length;
}

/** Lines that may divide, but for those of a merge conflict inside the text. */
function dividersIn(text: string, from: number, end: number, length: number): number[] {
  const all: number[] = [];
  const same: number[] = [];
  let conflict = false;
  for (let at = from; at < end; at = lineAfter(text, at)) {
    if (text.startsWith("<<<<<<< ", at) && !text.startsWith("SEARCH", at + 8)) conflict = true;
    const found = text.startsWith("=====", at) ? DIVIDER_MARK.exec(lineAt(text, at))?.[1]?.length : undefined;
    if (found !== undefined && !conflict) {
      all.push(at);
      if (found === length) same.push(at);
    }
    if (text.startsWith(">>>>>>> ", at)) conflict = false;
  }
  return same.length > 0 ? same : all;
}

/** `:start_line:12` and a dashed line may open a block. */
function readHints(text: string, from: number, end: number): { from: number; startLine?: number } {
  let at = from;
  let startLine: number | undefined;
  for (; at < end && text.charAt(at) === ":"; at = lineAfter(text, at)) {
    const hint = /^:(start_line|end_line): ?(\d+)\s*$/.exec(lineAt(text, at));
    if (!hint) break;
    if (hint[1] === "start_line") startLine = Number(hint[2]);
  }
  if (at === from) return { from };
  if (/^-{5,9}\s*$/.test(lineAt(text, at))) at = lineAfter(text, at);
  return startLine === undefined || startLine < 1 ? { from: at } : { from: at, startLine };
}

/** A name in a line of its own, in backticks, a heading, bold or beside the fence, sought upwards through `from … at`. */
function pathAbove(text: string, from: number, at: number): string | null {
  let seen = 0;
  for (let end = at - 1, start = end; end >= from && seen < LINES_ABOVE; end = start - 1) {
    start = Math.max(from, end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1);
    const line = text.slice(start, end).trim();
    if (line === "") continue;
    seen++;
    const fence = FENCE.exec(line);
    const path = fence ? pathBesideFence(fence[2]!) : pathIn(line);
    if (path !== null) return path;
  }
  return null;
}

/** "```ts src/a.ts", "```src/a.ts", "```ts:src/a.ts", "```ts title=src/a.ts". */
function pathBesideFence(info: string): string | null {
  const last = info.trim().split(/\s+/).at(-1) ?? "";
  const name = last.replace(/^(?:title|file|path)=/, "").replace(/^["']|["']$/g, "");
  const afterColon = /^[\w+#-]+:(.+)$/.exec(name)?.[1] ?? name;
  const mayBePath = afterColon.includes("/") || /^[^.]+\.\w+$/.test(afterColon);
  return mayBePath && isNamed(afterColon, false) ? afterColon : null;
}

function pathIn(line: string): string | null {
  const quoted = /`([^`]+)`/.exec(line)?.[1] ?? /\*\*([^*]+)\*\*/.exec(line)?.[1];
  if (quoted !== undefined) {
    const name = quoted.trim().replace(/:$/, "");
    if (isNamed(name, true)) return name;
  }
  const comment = /^(?:\/\/|<!--|--)\s*(.+?)\s*(?:-->)?$/.exec(line)?.[1] ?? line;
  const marked = /^#{1,6}\s+|^(?:file(?:name|path)?|path)\s*:\s*/i;
  const own = marked.test(comment);
  const name = comment.replace(marked, "").replace(/:$/, "").trim();
  return isNamed(name, own) ? name : null;
}

/** `certain`: the line says by its form that it is a name, so spaces are allowed in it. */
export function isNamed(name: string, certain: boolean): boolean {
  if (name === "" || name.length > 400 || /[<>|"\0]/.test(name)) return false;
  if (BARE_NAMES.test(name)) return true;
  const hasExtension = /[^/.\s][^/]*\.[A-Za-z0-9_+-]{1,12}$/.test(name);
  if (/\s/.test(name)) return hasExtension && (certain || (name.includes("/") && !/[,;!?]\s/.test(name)));
  return hasExtension || (name.includes("/") && /^[^\s()]+$/.test(name));
}

/** A coder is asked again for so many blocks. */
const MOST_UNREAD = 40;

const METADATA = { format: "search-replace" } as const;

/**
 * SEARCH/REPLACE blocks. Each block is one command; one without a path of its own continues the file of the
 * block before it. Text between blocks is prose. An empty SEARCH creates the file. `above` is the prose before the text,
 * which may name the file of its first block.
 */
export function parseSearchReplace(text: string, above = ""): EmbeddedRead {
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(text);
  const items: PatchItem[] = [];
  let bad: ParseFailure | undefined;
  let unread = 0;
  let path: string | null = null;
  let proseFrom = 0;
  const around: [number, number][] = [];
  for (let at = 0, next = at; at < text.length; at = next) {
    next = lineAfter(text, at);
    const start = searchMark(text, at);
    if (start === 0) continue;
    path = blockPath(text, proseFrom, at, above) ?? path;
    const block = readSearchBlock(text, at, start);
    const isEmpty =
      block.ok && block.search.from === block.search.end && block.replace.from === block.replace.end;
    if (!block.ok || path === null || isEmpty) {
      const message =
        path === null
          ? "the block has no file name above it"
          : block.ok
            ? "SEARCH and REPLACE are both empty"
            : block.message;
      const wrong = path === null || block.ok ? at : block.wrong;
      const line = lineOf(at);
      const shown = lineAt(text, wrong).trim().slice(0, LONGEST_MARK);
      items.push({
        unread: message,
        ...(path !== null && { path }),
        line,
        wrong: { line: lineOf(wrong), text: shown },
      });
      next = block.ok ? block.next : nextBlock(text, lineAfter(text, wrong));
      proseFrom = next;
      bad ??= { code: "invalid-block", message: `${message} (line ${line})`, line, index: commands.length };
      if (++unread > MOST_UNREAD) return { ok: false, failure: bad };
      continue;
    }
    const { search, replace, startLine } = block;
    if (block.leavesOutAt !== undefined)
      warnings.push(
        `line ${lineOf(block.leavesOutAt)}: a second '=======' ends the block; the text between it and '>>>>>>> REPLACE' is not used`,
      );
    around.push([proseFrom, at]);
    const hunk = new SearchReplaceHunk(text, search, replace, startLine);
    const command: PatchCommand = {
      type: "file_edit",
      action: "update",
      target: path,
      content: withoutCr(text.slice(at, block.next)),
      metadata: METADATA,
      edit: { kind: "search-replace", path, hunk },
    };
    commands.push(command);
    items.push(command);
    proseFrom = block.next;
    next = block.next;
  }
  around.push([proseFrom, text.length]);
  if (bad !== undefined) return { ok: false, failure: { ...bad, items } };
  if (commands.length > 0) return { ok: true, commands, warnings, around: () => linesOf(text, around) };
  const message = "no SEARCH/REPLACE block in the text";
  return { ok: false, failure: { code: "not-a-patch", message, line: 1 } };
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
  const lines: HunkLine[] = [];
  const push = (tag: HunkLine["tag"], texts: readonly string[]) => {
    for (const text of texts) lines.push({ tag, text, eol: "\n" });
  };
  let kept = 0;
  for (const { old, now } of compareLines(search, replace)) {
    push(" ", search.slice(kept, old[0]));
    push("-", search.slice(...old));
    push("+", replace.slice(...now));
    kept = old[1];
  }
  push(" ", search.slice(kept));
  return lines;
}

export const searchReplaceFormat: EmbeddedFormat = {
  name: "search-replace",
  initials: "<-",
  isMark: (text, at, end) => searchMark(text, at, end) > 0,
  isLeadIn: (text, at) => !isFenceMark(text, at),
  measure: measureBlocks,
  runsToEnd: true,
  readsProse: true,
  inAnyFence: true,
  read(text, { lead, lastPath, firstIndex }) {
    const last = lastPath === undefined ? "" : `\`${lastPath}\`\n`;
    const prose = lead !== undefined && "prose" in lead ? `${last}${lead.prose}` : "";
    const above = lead !== undefined && "path" in lead ? `\`${lead.path}\`` : prose;
    return shiftLines(parseSearchReplace(text, above), 0, firstIndex);
  },
};

/** Blocks follow each other with nothing but white space and a path between them: after the last of these. */
function measureBlocks(text: string): (from: number) => number | undefined {
  return (from) => {
    let end: number | undefined;
    for (let at = from, start = searchLine(text, at); start !== undefined; start = searchLine(text, at)) {
      const next = endOfBlock(text, lineAfter(text, start.end), start.length);
      if (next === undefined) break;
      at = next;
      end = next;
    }
    return end;
  };
}

/** After the closing mark; without one after the second divider before the next block. */
function endOfBlock(text: string, from: number, length: number): number | undefined {
  const close = blockEnd(text, from, length);
  if (close >= 0) return lineAfter(text, close);
  const [, second] = dividersIn(text, from, nextBlock(text, from), length);
  return second === undefined ? undefined : lineAfter(text, second);
}

/** The length of the mark of a SEARCH line; 0 when the line is not one. */
function searchMark(text: string, at: number, end = lineEnd(text, at)): number {
  return SEARCH_MARK.exec(text.slice(at, Math.min(end, at + LONGEST_MARK)))?.[1]?.length ?? 0;
}

/** The SEARCH line on the next line, or after one more line (a path). */
function searchLine(text: string, from: number): { end: number; length: number } | undefined {
  const first = nextLine(text, from);
  if (first === undefined) return undefined;
  const own = searchMark(text, first.at, first.end);
  if (own > 0) return { end: first.end, length: own };
  const second = isFenceMark(text, first.at) ? undefined : nextLine(text, first.end + 1);
  if (second === undefined) return undefined;
  const below = searchMark(text, second.at, second.end);
  return below > 0 ? { end: second.end, length: below } : undefined;
}
