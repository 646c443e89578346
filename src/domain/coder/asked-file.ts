import type { LineRange } from "./file-excerpts.ts";

/** A file that a coder asks for, or some lines of it. */
export interface AskedFile {
  readonly path: string;
  readonly lines?: LineRange;
}

const RANGE = /(?::|#L?|\s+\(?lines?\s+|\s+L)(\d{1,7})(?:\s*(?:-|–|—|\.\.|:|to)\s*L?(\d{1,7})?)?\)?$/i;
/** Lines around a single one that was named. */
const AROUND_NAMED_LINE = 30;

/** Reads `path`, `path:12`, `path:12-80`, `path:12-` and what coders write instead. */
export function readAskedFile(text: string): AskedFile {
  const trimmed = text.trim();
  const found = RANGE.exec(trimmed);
  const path = (found === null ? trimmed : trimmed.slice(0, found.index)).trim().replace(/^\.?\//, "");
  if (found === null || path === "") return { path: trimmed.replace(/^\.?\//, "") };
  const first = Math.max(1, Number(found[1]));
  const open = /(?:-|–|—|\.\.|:|to)\s*\)?$/i.test(found[0]);
  const last = found[2] === undefined ? undefined : Number(found[2]);
  if (last === undefined && open) return { path, lines: { from: first, to: Number.MAX_SAFE_INTEGER } };
  if (last === undefined)
    return { path, lines: { from: Math.max(1, first - AROUND_NAMED_LINE), to: first + AROUND_NAMED_LINE } };
  return { path, lines: { from: Math.min(first, last), to: Math.max(first, last) } };
}
