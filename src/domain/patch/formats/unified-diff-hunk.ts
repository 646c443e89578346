import type { Hunk, HunkLine } from "../edit.ts";

/**
 * Reads one hunk. The counts of the header are followed where they are right, because only they tell a deleted
 * SQL comment (`--- x`) from the header of the next file. Where they are wrong or missing, the hunk goes on until
 * something that cannot belong to it.
 */
export type HunkRead =
  | { readonly ok: true; readonly hunk: Hunk; readonly next: number; readonly recounted: boolean }
  | { readonly ok: false; readonly line: number; readonly message: string };

interface HunkHeader {
  readonly oldStart?: number;
  readonly newStart?: number;
  readonly oldCount: number;
  readonly newCount: number;
  readonly counted: boolean;
  readonly heading: string;
}

const NUMBERED = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const LOOSE_NUMBERS = /^@@+ *-?(\d+)(?:,(\d*))? *\+?(\d+)?(?:,(\d*))?.*?@@ ?(.*)$/;

export function isHunkHeader(line: string): boolean {
  return line.startsWith("@@");
}

/** git's own form; such a line outside a file is an orphan. */
export function isNumberedHeader(line: string): boolean {
  return NUMBERED.test(stripCr(line));
}

export function readHunk(lines: readonly string[], at: number): HunkRead {
  const header = parseHeader(stripCr(lines[at]!));
  if (header === null)
    return { ok: false, line: at + 1, message: "a line number in the hunk header is too large" };
  const counted = header.counted ? countedEnd(lines, at + 1, header) : -1;
  const end = counted >= 0 ? counted : looseEnd(lines, at + 1);
  const body = hunkLines(lines, at + 1, end);
  if (!body.some((line) => line.tag !== " ")) {
    return { ok: false, line: at + 1, message: "the hunk changes nothing" };
  }
  const hunk: Hunk = {
    lines: body,
    ...(header.oldStart === undefined ? {} : { oldStart: header.oldStart }),
    ...(header.newStart === undefined ? {} : { newStart: header.newStart }),
    ...(header.heading === "" ? {} : { anchors: [header.heading] }),
  };
  return { ok: true, hunk, next: end, recounted: counted < 0 };
}

function parseHeader(line: string): HunkHeader | null {
  const exact = NUMBERED.exec(line);
  if (exact) {
    const numbers = [exact[1], exact[2] ?? "1", exact[3], exact[4] ?? "1"].map(Number);
    if (numbers.some((value) => !Number.isSafeInteger(value))) return null;
    const [oldStart, oldCount, newStart, newCount] = numbers as [number, number, number, number];
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

/** One past the last line by the header's counts, or -1 when the body does not agree with them. */
function countedEnd(lines: readonly string[], from: number, header: HunkHeader): number {
  let oldLeft = header.oldCount;
  let newLeft = header.newCount;
  let at = from;
  while (oldLeft > 0 || newLeft > 0) {
    const line = lines[at];
    if (line === undefined || startsNextFile(lines, at)) return -1;
    const tag = line.charAt(0);
    if (tag === "-") oldLeft--;
    else if (tag === "+") newLeft--;
    else if (isContext(line)) {
      oldLeft--;
      newLeft--;
    } else if (tag !== "\\") return -1;
    if (oldLeft < 0 || newLeft < 0) return -1;
    at++;
  }
  if (lines[at]?.startsWith("\\ ")) at++;
  return goesOn(lines, at) ? -1 : at;
}

/** True when changes follow that the counts left out; more context alone may be dropped. */
function goesOn(lines: readonly string[], from: number): boolean {
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!;
    const tag = line.charAt(0);
    if (/^--[- ]?\r?$/.test(line) || endsHunk(lines, at)) return false;
    if (tag === "+" || tag === "-") return true;
    if (tag !== " ") return false;
  }
  return false;
}

function looseEnd(lines: readonly string[], from: number): number {
  let end = from;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!;
    if (endsHunk(lines, at)) break;
    if (line !== "" && line !== "\r") {
      if (!/^[-+ \\]/.test(line) || /^-- \r?$/.test(line)) break;
      end = at + 1;
    }
  }
  return end;
}

function endsHunk(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  return isHunkHeader(line) || line.startsWith("diff --git ") || isPlainHeader(lines, at);
}

/** `---`, `+++` and a hunk after it: the next file of a plain diff. */
export function isPlainHeader(lines: readonly string[], at: number): boolean {
  return (
    lines[at]!.startsWith("--- ") &&
    lines[at + 1]?.startsWith("+++ ") === true &&
    lines[at + 2]?.startsWith("@@") === true
  );
}

/** Inside the counts only the unmistakable form ends a hunk. */
function startsNextFile(lines: readonly string[], at: number): boolean {
  if (!isPlainHeader(lines, at)) return false;
  return (
    /^--- (a\/|"a\/|\/dev\/null)/.test(lines[at]!) && /^\+\+\+ (b\/|"b\/|\/dev\/null)/.test(lines[at + 1]!)
  );
}

function isContext(line: string): boolean {
  return line === "" || line === "\r" || line.charCodeAt(0) === 32;
}

function hunkLines(lines: readonly string[], from: number, end: number): HunkLine[] {
  const body: HunkLine[] = [];
  for (let at = from; at < end; at++) {
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

function stripCr(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
