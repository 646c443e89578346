import { isAscii, lineAfter, lineAt, toBytesText } from "../../../platform/bytes-text.ts";
import { type Hunk, type HunkLine, UnreadHunk } from "../../patch-command.ts";
import { stripCr } from "./diff-file-names.ts";

/** The text of a diff, gone through by offset. Only what is read for good is turned into bytes text. */
export class DiffText {
  readonly text: string;
  private readonly inBytes: boolean;

  constructor(input: string | Uint8Array) {
    this.text = typeof input === "string" ? input : toBytesText(input);
    this.inBytes = typeof input !== "string" || isAscii(input);
  }

  after(at: number): number {
    return lineAfter(this.text, at);
  }

  startsWith(start: string, at: number): boolean {
    return this.text.startsWith(start, at);
  }

  line(at: number): string {
    const line = lineAt(this.text, at);
    return this.inBytes ? line : toBytesText(line);
  }

  bytesText(from: number, end: number): string {
    const part = this.text.slice(from, end);
    return this.inBytes ? part : toBytesText(part);
  }
}

/** Right counts are followed: only they tell a deleted `-- x` from a file's header. Else a hunk ends where a line cannot belong. */
export type HunkRead =
  | {
      readonly ok: true;
      readonly hunk: Hunk;
      readonly hasOld: boolean;
      readonly hasNew: boolean;
      readonly next: number;
      readonly recounted: boolean;
    }
  | { readonly ok: false; readonly at: number; readonly message: string };

interface HunkHeader {
  readonly oldStart?: number;
  readonly newStart?: number;
  readonly oldCount: number;
  readonly newCount: number;
  readonly counted: boolean;
  readonly heading: string;
}

/** The facts about a hunk that are known without reading its lines. */
interface HunkBody {
  readonly end: number;
  readonly hasOld: boolean;
  readonly hasNew: boolean;
  readonly changes: boolean;
  /** Every line begins with its tag and ends with a line feed. */
  readonly plain: boolean;
}

const NUMBERED = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const LOOSE_NUMBERS = /^@@+ *-?(\d+)(?:,(\d*))? *\+?(\d+)?(?:,(\d*))?.*?@@ ?(.*)$/;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
const BACKSLASH = 92;
/** Any number of that many digits is exact. */
const SAFE_DIGITS = 15;

export function isHunkHeader(diff: DiffText, at: number): boolean {
  return diff.startsWith("@@", at);
}

/** git's own form; such a line outside a file is an orphan. */
export function isNumberedHeader(diff: DiffText, at: number): boolean {
  return diff.startsWith("@@ -", at) && NUMBERED.test(stripCr(diff.line(at)));
}

export function readHunk(diff: DiffText, at: number): HunkRead {
  const header = gitHeader(diff.text, at) ?? parseHeader(stripCr(diff.line(at)));
  if (header === null) return { ok: false, at, message: "a line number in the hunk header is too large" };
  const from = diff.after(at);
  const counted = header.counted ? countedBody(diff, from, header) : null;
  const body = counted ?? looseBody(diff, from);
  if (!body.changes) return { ok: false, at, message: "the hunk changes nothing" };
  const { end, hasOld, hasNew } = body;
  const hunk = new DiffHunk(diff, from, body, header);
  return { ok: true, hunk, hasOld, hasNew, next: end, recounted: counted === null };
}

class DiffHunk extends UnreadHunk implements Hunk {
  readonly oldStart: number | undefined;
  readonly newStart: number | undefined;
  readonly anchors: readonly string[] | undefined;
  private readonly end: number;
  private readonly plain: boolean;

  constructor(
    private readonly diff: DiffText,
    private readonly from: number,
    body: HunkBody,
    header: HunkHeader,
  ) {
    super();
    this.end = body.end;
    this.plain = body.plain;
    this.oldStart = header.oldStart;
    this.newStart = header.newStart;
    this.anchors = header.heading === "" ? undefined : [header.heading];
  }

  get written(): string | undefined {
    return this.plain ? this.diff.bytesText(this.from, this.end) : undefined;
  }

  protected read(): readonly HunkLine[] {
    return hunkLines(this.diff.bytesText(this.from, this.end));
  }
}

/** `@@ -1,2 +1,2 @@`, as nearly all hunks have it, read in place; null for every other form. */
function gitHeader(text: string, at: number): HunkHeader | null {
  if (!text.startsWith("@@ -", at)) return null;
  const oldStart = at + 4;
  const oldCount = afterNumber(text, oldStart, ",");
  const newStart = afterNumber(text, oldCount, " +");
  const newCount = afterNumber(text, newStart, ",");
  if (afterNumber(text, newCount, " @@\n") < 0) return null;
  return {
    oldStart: numberAt(text, oldStart),
    newStart: numberAt(text, newStart),
    oldCount: numberAt(text, oldCount),
    newCount: numberAt(text, newCount),
    counted: true,
    heading: "",
  };
}

/** After a number at `from` and what must follow it; -1 if these are missing. */
function afterNumber(text: string, from: number, then: string): number {
  if (from < 0) return -1;
  let at = from;
  while (isDigit(text.charCodeAt(at))) at++;
  const digits = at - from;
  return digits > 0 && digits <= SAFE_DIGITS && text.startsWith(then, at) ? at + then.length : -1;
}

function numberAt(text: string, from: number): number {
  let value = 0;
  for (let at = from; isDigit(text.charCodeAt(at)); at++) value = value * 10 + text.charCodeAt(at) - ZERO;
  return value;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

function parseHeader(line: string): HunkHeader | null {
  const exact = NUMBERED.exec(line);
  if (exact) {
    const oldStart = Number(exact[1]);
    const oldCount = Number(exact[2] ?? 1);
    const newStart = Number(exact[3]);
    const newCount = Number(exact[4] ?? 1);
    if (!Number.isSafeInteger(Math.max(oldStart, oldCount, newStart, newCount))) return null;
    return { oldStart, newStart, oldCount, newCount, counted: true, heading: (exact[5] ?? "").trim() };
  }
  const none = { oldCount: 0, newCount: 0, counted: false };
  const loose = LOOSE_NUMBERS.exec(line);
  if (loose && Number.isSafeInteger(Number(loose[1]))) {
    return { ...none, oldStart: Number(loose[1]), heading: (loose[5] ?? "").trim() };
  }
  const close = line.lastIndexOf("@@");
  const heading = close > 2 ? line.slice(close + 2) : line.slice(2);
  return { ...none, heading: heading.trim() === "..." ? "" : heading.trim() };
}

/** The body by the header's counts, or null when it does not agree with them. */
function countedBody(diff: DiffText, from: number, header: HunkHeader): HunkBody | null {
  const { text } = diff;
  let oldLeft = header.oldCount;
  let newLeft = header.newCount;
  let changes = false;
  let plain = true;
  let at = from;
  while (oldLeft > 0 || newLeft > 0) {
    if (at >= text.length) return null;
    const tag = text.charCodeAt(at);
    if (tag === SPACE) {
      oldLeft--;
      newLeft--;
    } else if (tag === PLUS) {
      changes = true;
      newLeft--;
    } else if (tag === MINUS) {
      if (startsNextFile(diff, at)) return null;
      changes = true;
      oldLeft--;
    } else if (isBlank(text, at)) {
      plain = false;
      oldLeft--;
      newLeft--;
    } else if (tag === BACKSLASH) plain = false;
    else return null;
    if (oldLeft < 0 || newLeft < 0) return null;
    at = diff.after(at);
  }
  if (diff.startsWith("\\ ", at)) {
    plain = false;
    at = diff.after(at);
  }
  if (bodyContinues(diff, at)) return null;
  plain &&= text.charCodeAt(at - 1) === LINE_FEED;
  return { end: at, hasOld: header.oldCount > 0, hasNew: header.newCount > 0, changes, plain };
}

/** True when changes follow that the counts left out; more context alone may be dropped. */
function bodyContinues(diff: DiffText, from: number): boolean {
  const { text } = diff;
  for (let at = from; at < text.length; at = diff.after(at)) {
    const tag = text.charCodeAt(at);
    if (endsHunk(diff, at) || (tag === MINUS && /^--[- ]?\r?$/.test(diff.line(at)))) return false;
    if (tag === PLUS || tag === MINUS) return true;
    if (tag !== SPACE) return false;
  }
  return false;
}

function looseBody(diff: DiffText, from: number): HunkBody {
  const { text } = diff;
  let end = from;
  for (let at = from; at < text.length && !endsHunk(diff, at); ) {
    const next = diff.after(at);
    if (!isBlank(text, at)) {
      const tag = text.charCodeAt(at);
      if (tag !== SPACE && tag !== PLUS && tag !== MINUS && tag !== BACKSLASH) break;
      if (tag === MINUS && /^-- \r?$/.test(diff.line(at))) break;
      end = next;
    }
    at = next;
  }
  return { end, ...tagsIn(diff, from, end) };
}

function tagsIn(diff: DiffText, from: number, end: number): Omit<HunkBody, "end"> {
  const { text } = diff;
  let context = false;
  let deletes = false;
  let adds = false;
  let plain = text.charCodeAt(end - 1) === LINE_FEED;
  for (let at = from; at < end; at = diff.after(at)) {
    const tag = text.charCodeAt(at);
    if (tag === PLUS) adds = true;
    else if (tag === MINUS) deletes = true;
    else if (tag === BACKSLASH) plain = false;
    else {
      context = true;
      plain &&= tag === SPACE;
    }
  }
  return { hasOld: context || deletes, hasNew: context || adds, changes: deletes || adds, plain };
}

function endsHunk(diff: DiffText, at: number): boolean {
  return isHunkHeader(diff, at) || diff.startsWith("diff --git ", at) || isPlainHeader(diff, at);
}

/** `---`, `+++` and a hunk after it: the next file of a plain diff. */
export function isPlainHeader(diff: DiffText, at: number): boolean {
  if (!diff.startsWith("--- ", at)) return false;
  const second = diff.after(at);
  return diff.startsWith("+++ ", second) && isHunkHeader(diff, diff.after(second));
}

/** Inside the counts only the unmistakable form ends a hunk. */
function startsNextFile(diff: DiffText, at: number): boolean {
  return (
    isPlainHeader(diff, at) &&
    /^--- (a\/|"a\/|\/dev\/null)/.test(diff.line(at)) &&
    /^\+\+\+ (b\/|"b\/|\/dev\/null)/.test(diff.line(diff.after(at)))
  );
}

/** An empty line, or one of nothing but a carriage return: context whose space was lost. */
function isBlank(text: string, at: number): boolean {
  const start = text.charCodeAt(at) === CARRIAGE_RETURN ? at + 1 : at;
  return start >= text.length || text.charCodeAt(start) === LINE_FEED;
}

function hunkLines(written: string): HunkLine[] {
  const lines = written.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const body: HunkLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const tag = line.charAt(0);
    if (tag === "\\") continue;
    const marker = lines[at + 1];
    const last = marker?.startsWith("\\ ") === true;
    const cr = line.endsWith("\r") && (!last || marker.endsWith("\r"));
    body.push({
      tag: tag === "-" || tag === "+" ? tag : " ",
      text: line.slice(tag === "\r" ? 0 : 1, cr ? -1 : undefined),
      eol: last ? "" : cr ? "\r\n" : "\n",
    });
  }
  return body;
}
