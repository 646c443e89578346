import { compareLines } from "../patch/compare-lines.ts";

/** The origin of a line: a line of the older text, or the change that wrote it. Lines count from 0. */
export type LineOrigin =
  | { readonly kind: "kept"; readonly line: number }
  | { readonly kind: "written"; readonly replaced: readonly string[] };

export function traceLine(old: readonly string[], now: readonly string[], line: number): LineOrigin {
  let shift = 0;
  for (const { old: from, now: to } of compareLines(old, now)) {
    if (to[0] > line) break;
    if (line < to[1]) return { kind: "written", replaced: old.slice(from[0], from[1]) };
    shift = from[1] - to[1];
  }
  return { kind: "kept", line: line + shift };
}

/** The share of lines with words that a deleted text and a new one have in common before it counts as renamed. */
const MOST_ALIKE = 0.5;

/** Which of the deleted texts a new one continues: the one with the most of its lines; null where none has half of them. */
export function findRenamed<One>(
  now: readonly string[],
  deleted: readonly { readonly lines: readonly string[]; readonly file: One }[],
): One | null {
  const words = new Set(now.filter((line) => line.trim() !== ""));
  let best: { readonly file: One; readonly share: number } | null = null;
  for (const { lines, file } of deleted) {
    const own = new Set(lines.filter((line) => line.trim() !== ""));
    const shared = [...own].filter((line) => words.has(line)).length;
    const share = shared / Math.max(own.size, words.size, 1);
    if (share >= MOST_ALIKE && share > (best?.share ?? 0)) best = { file, share };
  }
  return best?.file ?? null;
}
