/** Lines of a file, both ends included, from 1; `to` is Infinity for the end of the file. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/** A stretch of lines that differs: `[from, to)` of the old text was replaced by `[from, to)` of the new one. */
export interface LineChange {
  readonly old: readonly [from: number, to: number];
  readonly now: readonly [from: number, to: number];
}

/** Edits up to which a stretch is compared exactly. Myers' way takes lines × edits steps, so this keeps it linear. */
const MOST_EDITS = 64;
/** How often the lines between two anchors are divided again by anchors of their own. */
const MOST_DEPTH = 6;

/**
 * The differences between two texts, in time that grows with their lines and not with their product: a file
 * whose lines were shuffled costs no more than twice as much as half of it. Stretches with few edits are
 * compared exactly; others are divided at lines that both have once; a stretch that then still differs in
 * many places is one change.
 */
export function compareLines(old: readonly string[], now: readonly string[]): LineChange[] {
  const ids = new Map<string, number>();
  const [a, b] = [toIds(old, ids), toIds(now, ids)];
  const changes: LineChange[] = [];
  compareStretch({ a, b, changes, seen: new Int32Array(ids.size), place: new Int32Array(ids.size) }, [
    0,
    a.length,
    0,
    b.length,
    MOST_DEPTH,
  ]);
  return joinTouching(changes);
}

/** Git looks as far for a NUL byte. */
const LOOKED_BYTES = 8_000;

/** A NUL byte near the start, or control characters outside of UTF-8: small objects of git have no NUL, old encodings no controls. */
export function isBinaryContent(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, LOOKED_BYTES);
  if (start.includes(0)) return true;
  if (!start.some(isControlByte)) return false;
  try {
    // A character that is cut at the end is not an error.
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: start.length < bytes.length });
    return false;
  } catch {
    return true;
  }
}

/** Bell to carriage return and escape are found in texts. */
function isControlByte(byte: number): boolean {
  return byte < 7 || (byte > 13 && byte < 32 && byte !== 27) || byte === 127;
}

/** Line ends belong to their lines, so that a missing last one is a difference. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const whole = lines.map((line) => `${line}\n`);
  return last === "" ? whole : [...whole, last];
}

interface Comparison {
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly changes: LineChange[];
  /** Scratch, one cell a different line; clean between uses. */
  readonly seen: Int32Array;
  readonly place: Int32Array;
}

type Stretch = readonly [fromA: number, toA: number, fromB: number, toB: number, depth: number];

function toIds(lines: readonly string[], ids: Map<string, number>): Int32Array {
  const result = new Int32Array(lines.length);
  for (const [n, line] of lines.entries()) {
    const known = ids.get(line);
    const id = known ?? ids.size;
    if (known === undefined) ids.set(line, id);
    result[n] = id;
  }
  return result;
}

function compareStretch(comparison: Comparison, [startA, endA, startB, endB, depth]: Stretch): void {
  const { a, b, changes } = comparison;
  let [fromA, toA, fromB, toB] = [startA, endA, startB, endB];
  while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) {
    fromA += 1;
    fromB += 1;
  }
  while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) {
    toA -= 1;
    toB -= 1;
  }
  if (fromA === toA && fromB === toB) return;
  const whole = { old: [fromA, toA], now: [fromB, toB] } as const;
  if (fromA === toA || fromB === toB) return void changes.push(whole);
  if (compareExactly(comparison, fromA, toA, fromB, toB)) return;
  const anchors = depth === 0 ? [] : findAnchors(comparison, fromA, toA, fromB, toB);
  if (anchors.length === 0) return void changes.push(whole);
  let [lastA, lastB] = [fromA, fromB];
  for (const [atA, atB] of anchors) {
    compareStretch(comparison, [lastA, atA, lastB, atB, depth - 1]);
    [lastA, lastB] = [atA + 1, atB + 1];
  }
  compareStretch(comparison, [lastA, toA, lastB, toB, depth - 1]);
}

/** Myers' greedy comparison; false, without a result, if it takes more than `MOST_EDITS` edits. */
function compareExactly(
  { a, b, changes }: Comparison,
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
): boolean {
  const [n, m] = [toA - fromA, toB - fromB];
  if (Math.abs(n - m) > MOST_EDITS) return false;
  const most = Math.min(n + m, MOST_EDITS);
  const middle = most + 1;
  const furthest = new Int32Array(2 * middle + 1);
  const steps: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    steps.push(furthest.slice(middle - edits - 1, middle + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down =
        k === -edits ||
        (k !== edits && (furthest[middle + k - 1] as number) < (furthest[middle + k + 1] as number));
      let x = down ? (furthest[middle + k + 1] as number) : (furthest[middle + k - 1] as number) + 1;
      let y = x - k;
      while (x < n && y < m && a[fromA + x] === b[fromB + y]) {
        x += 1;
        y += 1;
      }
      furthest[middle + k] = x;
      if (x < n || y < m) continue;
      walkBack(changes, steps, [n, m], [fromA, fromB]);
      return true;
    }
  }
  return false;
}

/** `steps[e]` holds how far each diagonal had come before edit `e`, from diagonal `-e - 1` on. */
function walkBack(
  changes: LineChange[],
  steps: readonly Int32Array[],
  [n, m]: readonly [number, number],
  [fromA, fromB]: readonly [number, number],
): void {
  const found: LineChange[] = [];
  let [x, y] = [n, m];
  for (let edits = steps.length - 1; edits > 0; edits -= 1) {
    const before = steps[edits] as Int32Array;
    const at = (k: number) => before[k + edits + 1] as number;
    const k = x - y;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const [wasX, wasY] = down ? [at(k + 1), at(k + 1) - (k + 1)] : [at(k - 1), at(k - 1) - (k - 1)];
    found.push({
      old: [fromA + wasX, fromA + wasX + (down ? 0 : 1)],
      now: [fromB + wasY, fromB + wasY + (down ? 1 : 0)],
    });
    [x, y] = [wasX, wasY];
  }
  for (const change of found.reverse()) changes.push(change);
}

/** Lines that occur once in both stretches, the longest run of them in the same order. */
function findAnchors(
  { a, b, seen, place }: Comparison,
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
): [number, number][] {
  // The upper half of a cell counts lines of the old text, the lower half those of the new one.
  const count = (lines: Int32Array, from: number, to: number, one: number) => {
    for (let n = from; n < to; n += 1) {
      const id = lines[n] as number;
      const times = seen[id] as number;
      if ((times & (one === 1 ? 0xff : 0xff00)) < 2 * one) seen[id] = times + one;
    }
  };
  count(a, fromA, toA, 256);
  count(b, fromB, toB, 1);
  const once = 256 + 1;
  for (let n = fromB; n < toB; n += 1) if (seen[b[n] as number] === once) place[b[n] as number] = n;
  const pairs: [number, number][] = [];
  for (let n = fromA; n < toA; n += 1)
    if (seen[a[n] as number] === once) pairs.push([n, place[a[n] as number] as number]);
  for (let n = fromA; n < toA; n += 1) seen[a[n] as number] = 0;
  for (let n = fromB; n < toB; n += 1) seen[b[n] as number] = 0;
  return longestRising(pairs);
}

/** Of pairs that rise in the first place, most of those that rise in the second one too. */
function longestRising(pairs: readonly [number, number][]): [number, number][] {
  const ends: number[] = [];
  const previous = new Int32Array(pairs.length);
  for (const [n, [, value]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] as number] as [number, number])[1] < value) low = middle + 1;
      else high = middle;
    }
    previous[n] = low === 0 ? -1 : (ends[low - 1] as number);
    ends[low] = n;
  }
  const result: [number, number][] = [];
  for (let n = ends.at(-1) ?? -1; n !== -1; n = previous[n] as number)
    result.push(pairs[n] as [number, number]);
  return result.reverse();
}

function joinTouching(changes: readonly LineChange[]): LineChange[] {
  const joined: LineChange[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (last !== undefined && last.old[1] === change.old[0] && last.now[1] === change.now[0])
      joined[joined.length - 1] = { old: [last.old[0], change.old[1]], now: [last.now[0], change.now[1]] };
    else joined.push(change);
  }
  return joined;
}

/** Lines of a unified diff, without their line ends: ` same`, `-old`, `+new`. */
export interface DiffHunk {
  /** From 1. */
  readonly oldStart: number;
  readonly oldCount: number;
  readonly newStart: number;
  readonly newCount: number;
  readonly lines: readonly string[];
}

const CONTEXT = 3;
const NO_END = "\\ No newline at end of file";

/** The changes of two texts with three lines around them, as a unified diff has them. */
export function toHunks(old: readonly string[], now: readonly string[]): DiffHunk[] {
  const hunks: DiffHunk[] = [];
  const changes = compareLines(old, now);
  for (let first = 0; first < changes.length; ) {
    let last = first;
    while (
      last + 1 < changes.length &&
      (changes[last + 1] as LineChange).old[0] - (changes[last] as LineChange).old[1] <= 2 * CONTEXT
    )
      last += 1;
    hunks.push(toHunk(old, now, changes.slice(first, last + 1)));
    first = last + 1;
  }
  return hunks;
}

function toHunk(old: readonly string[], now: readonly string[], changes: readonly LineChange[]): DiffHunk {
  const [begin, end] = [changes[0] as LineChange, changes.at(-1) as LineChange];
  const before = Math.min(CONTEXT, begin.old[0]);
  const after = Math.min(CONTEXT, old.length - end.old[1]);
  const lines: string[] = [];
  const add = (sign: string, from: readonly string[], start: number, to: number) => {
    for (let n = start; n < to; n += 1) {
      const line = from[n] as string;
      if (line.endsWith("\n")) lines.push(sign + line.slice(0, -1));
      else lines.push(sign + line, NO_END);
    }
  };
  let at = begin.old[0] - before;
  for (const change of changes) {
    add(" ", old, at, change.old[0]);
    add("-", old, ...change.old);
    add("+", now, ...change.now);
    at = change.old[1];
  }
  add(" ", old, at, end.old[1] + after);
  const oldCount = end.old[1] + after - (begin.old[0] - before);
  const newCount = end.now[1] + after - (begin.now[0] - before);
  return {
    // A side without lines is counted from the line before it.
    oldStart: begin.old[0] - before + (oldCount === 0 ? 0 : 1),
    oldCount,
    newStart: begin.now[0] - before + (newCount === 0 ? 0 : 1),
    newCount,
    lines,
  };
}

/** How many lines a change adds and removes. */
export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** Null if a side is not text. */
export function countLines(before: Uint8Array | null, after: Uint8Array | null): LineCounts | null {
  const [old, now] = [linesOf(before), linesOf(after)];
  if (old === null || now === null) return null;
  let [added, removed] = [0, 0];
  for (const change of compareLines(old, now)) {
    added += change.now[1] - change.now[0];
    removed += change.old[1] - change.old[0];
  }
  return { added, removed };
}

function linesOf(bytes: Uint8Array | null): string[] | null {
  if (bytes === null) return [];
  if (isBinaryContent(bytes)) return null;
  const lines = Buffer.from(bytes).toString().split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Ends a line or a name, has a meaning in quotes, passes for a date, or cannot be seen: such a header could be of another file. */
const AMBIGUOUS_NAME = /[\x00-\x1f"\\\x7f-\x9f\u2028-\u202e\u2066-\u2069]| $| \d{4}-\d\d-\d\d /;

/** A name in the header of a diff: quoted as git does where the plain name could be read in another way. */
export function writeFileName(name: string): string {
  return AMBIGUOUS_NAME.test(name) ? quoteFileName(name) : name;
}

/** C-style quotes, as git writes them: unambiguous for every name. */
export function quoteFileName(name: string): string {
  const plain = (byte: number) => byte >= 32 && byte < 127 && byte !== 0x22 && byte !== 0x5c;
  const letters = [...Buffer.from(name, "utf8")].map((byte) =>
    plain(byte) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`,
  );
  return `"${letters.join("")}"`;
}

/** A changed mode in git's words. */
export function modeLines([before, after]: readonly [number, number]): string[] {
  return [`old mode 100${octal(before)}`, `new mode 100${octal(after)}`];
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}
