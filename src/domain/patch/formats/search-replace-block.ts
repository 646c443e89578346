/** Finds the parts of one block. Marks of five to nine characters count; where lengths differ, equal ones belong together. */
export type BlockRead =
  | {
      readonly ok: true;
      readonly search: readonly string[];
      readonly replace: readonly string[];
      /** 1-based line of the file, where the block says one. */
      readonly startLine?: number;
      /** One past the closing mark. */
      readonly next: number;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

const START = /^(<{5,9}|-{5,9}) ?SEARCH>?\s*$/;
const DIVIDER = /^(={5,9})\s*$/;
const END = /^(>{5,9}|\+{5,9}) ?REPLACE\s*$/;

/** The length of the opening mark, or null. */
export function startOfBlock(line: string): number | null {
  return START.exec(line)?.[1]?.length ?? null;
}

export function readBlock(lines: readonly string[], at: number, length: number): BlockRead {
  const end = endOf(lines, at + 1, length);
  if (end < 0)
    return {
      ok: false,
      line: at,
      message: "the block has no '>>>>>>> REPLACE'; the patch may have been cut off",
    };
  const hints = readHints(lines, at + 1, end);
  const dividers = dividersIn(lines, hints.from, end, length);
  // Text that holds such a line itself holds it on both sides, so the middle one divides.
  if (dividers.length % 2 === 0) {
    const message =
      dividers.length === 0
        ? "the block has no '======='"
        : "the block has several '=======' and none is the middle one";
    return {
      ok: false,
      line: at,
      message: `${message}; use longer marks (up to nine characters) around text that holds them`,
    };
  }
  const middle = dividers[(dividers.length - 1) / 2]!;
  return {
    ok: true,
    search: lines.slice(hints.from, middle),
    replace: lines.slice(middle + 1, end),
    ...(hints.startLine === undefined ? {} : { startLine: hints.startLine }),
    next: end + 1,
  };
}

/** The closing mark of the same length, before another block of that length opens; else the first of any length. */
function endOf(lines: readonly string[], from: number, length: number): number {
  let other = -1;
  for (let i = from; i < lines.length; i++) {
    const found = END.exec(lines[i]!)?.[1]?.length;
    if (found === length) return i;
    if (found !== undefined && other < 0) other = i;
    if (startOfBlock(lines[i]!) === length) break;
  }
  return other;
}

/** Lines that may divide, but for those of a merge conflict inside the text. */
function dividersIn(lines: readonly string[], from: number, end: number, length: number): number[] {
  const all: number[] = [];
  const same: number[] = [];
  let conflict = false;
  for (let i = from; i < end; i++) {
    const line = lines[i]!;
    if (/^<{7} (?!SEARCH)/.test(line)) conflict = true;
    const found = DIVIDER.exec(line)?.[1]?.length;
    if (found !== undefined && !conflict) {
      all.push(i);
      if (found === length) same.push(i);
    }
    if (/^>{7} /.test(line)) conflict = false;
  }
  return same.length > 0 ? same : all;
}

/** `:start_line:12` and a dashed line may open a block. */
function readHints(
  lines: readonly string[],
  from: number,
  end: number,
): { from: number; startLine?: number } {
  let at = from;
  let startLine: number | undefined;
  for (; at < end; at++) {
    const hint = /^:(start_line|end_line): ?(\d+)\s*$/.exec(lines[at]!);
    if (!hint) break;
    if (hint[1] === "start_line") startLine = Number(hint[2]);
  }
  if (at === from) return { from };
  if (/^-{5,9}\s*$/.test(lines[at] ?? "")) at++;
  return startLine === undefined || startLine < 1 ? { from: at } : { from: at, startLine };
}
