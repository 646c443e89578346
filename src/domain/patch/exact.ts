import type { Hunk, HunkLine } from "./patch-command.ts";
import type { MatchTarget } from "./target.ts";
import type { MatchProgress } from "./tie-break.ts";
import { spendBudget } from "./work-budget.ts";

/** What the hunk expects to find, as one text. */
export function oldText(lines: readonly HunkLine[]): string {
  let text = "";
  for (const line of lines) if (line.tag !== "+") text += line.text + line.eol;
  return text;
}

/** Every line at which the old text stands byte for byte. */
export function findExact(target: MatchTarget, old: string): number[] {
  const { file, budget } = target;
  const found: number[] = [];
  for (let at = file.text.indexOf(old); at >= 0; at = file.text.indexOf(old, at + 1)) {
    const line = matchesAt(target, old, at);
    if (line >= 0) found.push(line);
    if (!spendBudget(budget, 1 + old.length / 100)) break;
  }
  spendBudget(budget, 1 + file.text.length / 100);
  return found;
}

/** The claimed line when the old text stands right there: no other place can be nearer. Else -1. */
export function matchesAsClaimed(
  target: MatchTarget,
  hunk: Hunk,
  old: string,
  oldCount: number,
  progress: MatchProgress,
): number {
  if (hunk.oldStart === undefined) return -1;
  const line = hunk.oldStart - 1 + progress.offset;
  const { file } = target;
  if (line < 0 || line + oldCount > file.count) return -1;
  const end = file.starts[line]! + old.length;
  const whole = end === file.starts[line + oldCount] && file.text.startsWith(old, file.starts[line]);
  return whole && target.free(line, hunk.lines) ? line : -1;
}

/** The line, when these are whole lines. */
function matchesAt({ file }: MatchTarget, old: string, offset: number): number {
  const end = offset + old.length;
  if (!old.endsWith("\n") && end !== file.text.length) return -1;
  return file.lineAt(offset);
}

/**
 * Where git would put the hunk, or -1: the nearest place to the claimed line whose bytes match, forward before
 * backward. A hunk that claims line 1 must match at the beginning, one without trailing context at the end.
 */
export function gitPlace(
  target: MatchTarget,
  hunk: Hunk,
  old: string,
  oldCount: number,
  expected: number,
): number {
  const { file } = target;
  const fromStart = (hunk.oldStart ?? 0) <= 1;
  const toEnd = hunk.lines.at(-1)?.tag !== " ";
  const fits = (line: number) =>
    line >= 0 &&
    line + oldCount <= file.count &&
    (!fromStart || line === 0) &&
    (!toEnd || line + oldCount === file.count) &&
    file.text.startsWith(old, file.starts[line]) &&
    (old.endsWith("\n") || old === "" || line + oldCount === file.count) &&
    target.untouched(line, oldCount);
  if (fromStart) return fits(0) ? 0 : -1;
  if (toEnd) return fits(file.count - oldCount) ? file.count - oldCount : -1;
  const wanted = Math.min(Math.max(expected, 0), file.count);
  if (fits(wanted)) return wanted;
  const after = seekText(target, old, wanted, 1, fits);
  const before = seekText(target, old, wanted, -1, fits);
  if (after < 0 || before < 0) return Math.max(after, before);
  return after - wanted <= wanted - before ? after : before;
}

function seekText(
  target: MatchTarget,
  old: string,
  from: number,
  step: 1 | -1,
  fits: (line: number) => boolean,
): number {
  const { file, budget } = target;
  let offset = file.starts[from]!;
  while (spendBudget(budget, 1 + old.length / 100)) {
    const before = offset;
    if (step < 0 && offset === 0) return -1;
    offset = step > 0 ? file.text.indexOf(old, offset + 1) : file.text.lastIndexOf(old, offset - 1);
    spendBudget(budget, Math.abs((offset < 0 ? file.text.length : offset) - before) / 100);
    if (offset < 0) return -1;
    const line = matchesAt(target, old, offset);
    if (line >= 0 && fits(line)) return line;
  }
  return -1;
}
