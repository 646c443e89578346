import { createLineCounter, lineAfter, lineAt, toBytesText } from "../../platform/bytes-text.ts";
import {
  type Hunk,
  type HunkLine,
  type ParseFailure,
  type PatchCommand,
  UnreadHunk,
} from "../patch-command.ts";
import {
  createFinder,
  type EmbeddedFormat,
  type EmbeddedRead,
  linesOf,
  markLine,
  shiftLines,
} from "./embedded-format.ts";

const END_OF_FILE = "*** End of File";
const STAR = 42;

/** Collects the hunks of one `*** Update File`. Several `@@` lines in a row are anchors from the outside in. */
class V4aHunks {
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

  /** Trailing empty lines separate hunks; a hunk without a change is dropped. */
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

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const OPERATION = /^\*\*\* (Add|Delete|Update) File: ?(.*)$/;
const METADATA = { format: "v4a" } as const;
const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const MOVE = /^\*\*\* Move to: ?(.*)$/;

interface HeaderLine {
  readonly verb: "Add" | "Delete" | "Update";
  readonly path: string;
}

interface Operation extends HeaderLine {
  moveTo?: string;
  /** Offset of the header. */
  readonly at: number;
  /** Offset of the first line that belongs to it. */
  body: number;
}

/** Each operation is one command, in order. An ill-formed text yields none: a misspelt header may hide the rest of an operation. */
export function parseV4a(text: string): EmbeddedRead {
  const begin = findMarker(text, BEGIN, 0, () => true);
  if (begin < 0) return v4aFailed("not-a-patch", `the first line must be '${BEGIN}'`, 1);
  const end = findMarker(text, END, lineAfter(text, begin), (at) => isEnd(text, at));
  if (end < 0) {
    const message = `the last line must be '${END}'; the patch may have been cut off`;
    return v4aFailed("invalid-v4a", message, createLineCounter(text)(text.length));
  }
  const patch = dedentHeader(text.slice(begin, end));
  const lineOf = (at: number) => createLineCounter(text)(begin) + createLineCounter(patch)(at) - 1;
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  let open: Operation | null = null;
  for (let at = lineAfter(patch, 0), next = at; at <= patch.length; at = next) {
    next = at < patch.length ? lineAfter(patch, at) : at + 1;
    if (open !== null && isPlainBody(open, patch, at)) continue;
    const line: string | null = at < patch.length ? patch.slice(at, next - 1) : null;
    const header: HeaderLine | null = line === null ? null : headerAt(line, open, at);
    if (line !== null && header === null) {
      const placed: boolean = open === null ? line.trim() === "" : takeLine(open, line, at, next);
      if (!placed) return invalidHeader(line, lineOf(at));
      continue;
    }
    if (open !== null) {
      const made = toCommand(open, patch, at, warnings);
      if ("message" in made) return v4aFailed("invalid-v4a", made.message, lineOf(made.at), commands.length);
      commands.push(made);
    }
    open = header === null ? null : { ...header, at, body: next };
    if (open?.path === "")
      return v4aFailed("invalid-v4a", "the header names no file", lineOf(at), commands.length);
  }
  if (commands.length === 0) return v4aFailed("invalid-v4a", "the patch names no file to change", lineOf(0));
  return { ok: true, commands, warnings };
}

/** The first line from `from` on that is the marker but for white space around it, and is wanted; -1 for none. */
function findMarker(text: string, marker: string, from: number, isWanted: (at: number) => boolean): number {
  for (let hit = text.indexOf(marker, from); hit !== -1; hit = text.indexOf(marker, lineAfter(text, hit))) {
    const at = Math.max(from, text.lastIndexOf("\n", hit) + 1);
    if (lineAt(text, at).trim() === marker && isWanted(at)) return at;
  }
  return -1;
}

/** The first end marker that is not padded, or a padded one after which no patch line follows. */
function isEnd(text: string, at: number): boolean {
  if (text.startsWith("***", at)) return true;
  const below = lineAfter(text, at);
  return ![below, lineAfter(text, below)].some((next) => /^(\*\*\* |@@|[-+ ]\S)/.test(lineAt(text, next)));
}

/** Takes off what the whole patch is indented by, and the carriage returns of a patch with such line ends. */
function dedentHeader(patch: string): string {
  const first = lineAt(patch, 0);
  const plain = first.endsWith("\r") ? patch.replaceAll("\r\n", "\n") : patch;
  const indent = /^[ \t]*/.exec(first)?.[0] ?? "";
  if (indent === "") return plain;
  const lines = plain.split("\n");
  const uniform = lines.every((line) => line.trim() === "" || line.startsWith(indent));
  return uniform ? lines.map((line) => line.slice(indent.length)).join("\n") : plain;
}

/** Most lines: they begin with what neither a header nor a marker begins with. */
function isPlainBody(open: Operation, patch: string, at: number): boolean {
  if (open.verb === "Delete") return false;
  const tag = patch.charCodeAt(at);
  return tag === PLUS || tag === MINUS || (tag === SPACE && open.verb === "Update" && at > open.body);
}

/** Inside an update a padded header would be a context line. */
function headerAt(line: string, open: Operation | null, at: number): HeaderLine | null {
  const padded = /^\s/.test(line);
  if (padded && open?.verb === "Update" && at > open.body) return null;
  const found = OPERATION.exec(line.trim());
  return found ? { verb: found[1] as Operation["verb"], path: found[2]!.trim() } : null;
}

/** False where the line cannot belong to the operation. */
function takeLine(open: Operation, line: string, at: number, next: number): boolean {
  const move = open.verb === "Update" && at === open.body ? MOVE.exec(line.trim()) : null;
  if (move) {
    open.moveTo = move[1]!.trim();
    open.body = next;
    return true;
  }
  if (line.startsWith("*** ") && line.trim() !== "*** End of File") return false;
  return open.verb !== "Delete" || line.trim() === "";
}

/** The command of an operation whose lines end at `end`. */
function toCommand(
  operation: Operation,
  patch: string,
  end: number,
  warnings: string[],
): PatchCommand | { message: string; at: number } {
  const { verb, path, moveTo, body } = operation;
  const base = { type: "file_edit", target: path, metadata: METADATA };
  if (verb === "Delete") return { ...base, action: "delete", content: "" };
  if (verb === "Add") {
    const content = addedContent(patch, body, end);
    return typeof content === "string" ? { ...base, action: "create", content } : content;
  }
  const hunks = readHunks(patch, body, end, path, warnings);
  if (hunks.length === 0 && moveTo === undefined)
    return { message: `the update of ${path} changes nothing`, at: operation.at };
  const move = moveTo === undefined ? {} : { moveTo };
  const content = patch.slice(body, Math.max(body, end - 1));
  return { ...base, action: "update", content, edit: { kind: "v4a", path, ...move, hunks } };
}

/** Every line begins with `+`; an empty line between such lines is taken for one. */
function addedContent(patch: string, from: number, end: number): string | { message: string; at: number } {
  let to = from;
  let whole = true;
  for (let at = from, next = at; at < end; at = next) {
    next = lineAfter(patch, at);
    if (patch.charCodeAt(at) === PLUS) {
      whole &&= to === at;
      to = next;
    } else if (lineAt(patch, at).trim() !== "")
      return { message: `a line of a new file must begin with '+': ${lineAt(patch, at)}`, at };
  }
  if (whole) return patch.slice(from + 1, to).replaceAll("\n+", "\n");
  const lines = patch.slice(from, to).split("\n");
  return lines.map((line) => line.slice(1)).join("\n");
}

function readHunks(
  patch: string,
  from: number,
  end: number,
  path: string,
  warnings: string[],
): readonly Hunk[] {
  const hunks = new V4aHunks(patch, from, end);
  const read = hunks.read();
  if (hunks.unmarked > 0)
    warnings.push(`${path}: ${hunks.unmarked} lines without '+', '-' or space were taken for context`);
  return read;
}

function invalidHeader(line: string, at: number): EmbeddedRead {
  return v4aFailed(
    "invalid-v4a",
    `'${line.trim()}' is not a valid header; valid are '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'`,
    at,
  );
}

function v4aFailed(code: ParseFailure["code"], message: string, line: number, index?: number): EmbeddedRead {
  const failure = { code, message: `${message} (line ${line})`, line };
  return { ok: false, failure: { ...failure, ...(index !== undefined && { index }) } };
}

const HEREDOC = /^apply_patch[ \t]+<<-?[ \t]*['"]?\w+['"]?$/;

export const v4aFormat: EmbeddedFormat = {
  name: "v4a",
  initials: "*",
  isMark: (text, at, end) => markLine(text, at, end) === BEGIN,
  isLeadIn: (text, at, end) => HEREDOC.test(markLine(text, at, end)),
  measure: measureV4a,
  runsToEnd: false,
  readsProse: false,
  inAnyFence: true,
  read: (text, { firstIndex }) => readV4a(text, firstIndex),
};

function measureV4a(text: string): (from: number) => number | undefined {
  const nextEnd = createFinder(text, END);
  const nextBegin = createFinder(text, `\n${BEGIN}`);
  return (from) => {
    const begin = nextBegin(from);
    const isOwn = (hit: number) => hit !== -1 && (begin === -1 || hit < begin);
    for (let hit = nextEnd(from); isOwn(hit); hit = nextEnd(lineAfter(text, hit))) {
      const at = Math.max(from, text.lastIndexOf("\n", hit) + 1);
      if (lineAt(text, at).trim() === END && isEnd(text, at)) return lineAfter(text, hit);
    }
    return undefined;
  };
}

/** One fence may hold several patches, one after the other. */
function readV4a(text: string, firstIndex: number): EmbeddedRead {
  const measure = measureV4a(text);
  const nextBegin = createFinder(text, BEGIN);
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(text);
  const around: [number, number][] = [];
  for (let from = 0; from !== -1; ) {
    around.push([from, Math.max(from, nextBegin(from))]);
    const end = measure(from) ?? text.length;
    const read = shiftLines(parseV4a(text.slice(from, end)), lineOf(from) - 1, firstIndex + commands.length);
    if (!read.ok) return read;
    for (const command of read.commands) commands.push(command);
    warnings.push(...read.warnings);
    from = nextBegin(end) === -1 ? -1 : end;
    if (from === -1) around.push([end, text.length]);
  }
  return { ok: true, commands, warnings, around: () => linesOf(text, around) };
}
