import type { Hunk, HunkReport } from "./patch-command.ts";
import { BOM } from "./patch-text.ts";

const SPACE = 32;
const PLUS = 43;

export interface AppliedAsClaimed {
  /** The new text, in pieces. */
  readonly parts: readonly string[];
  readonly reports: readonly HunkReport[];
}

/**
 * The common diff: its hunks come in order and each stands byte for byte where its header says. Goes through file
 * and hunks side by side, without an index of the lines. Null where anything is otherwise, even if the diff fits:
 * the way that searches decides then, and would have decided the same here.
 */
export function applyAsClaimed(path: string, text: string, hunks: readonly Hunk[]): AppliedAsClaimed | null {
  if (text.startsWith(BOM)) return null;
  const parts: string[] = [];
  const reports: HunkReport[] = [];
  let kept = 0;
  let offset = 0;
  let line = 0;
  let grown = 0;
  for (const { written, oldStart, newStart } of hunks) {
    if (written === undefined || oldStart === undefined) return null;
    const claimed = oldStart <= 1 ? 0 : (newStart ?? oldStart) - 1 - grown;
    if (claimed < line) return null;
    for (; line < claimed; line++) {
      offset = text.indexOf("\n", offset) + 1;
      if (offset === 0) return null;
    }
    let hasContext = false;
    let tag = 0;
    for (let at = 0; at < written.length; ) {
      const end = written.indexOf("\n", at) + 1;
      const own = written.slice(at + 1, end);
      tag = written.charCodeAt(at);
      at = end;
      if (tag === PLUS) {
        if (kept < offset) parts.push(text.slice(kept, offset));
        parts.push(own);
        kept = offset;
        grown++;
        continue;
      }
      if (!text.startsWith(own, offset)) return null;
      if (tag === SPACE) hasContext = true;
      else {
        if (kept < offset) parts.push(text.slice(kept, offset));
        kept = offset + own.length;
        grown--;
      }
      offset += own.length;
      line++;
    }
    // Without context around it a hunk is sought; without context after it, it belongs at the end.
    if (!hasContext || (tag !== SPACE && offset !== text.length)) return null;
    reports.push({ path, hunk: reports.length + 1, status: "applied", strategy: "exact", line: claimed + 1 });
  }
  parts.push(text.slice(kept));
  return { parts, reports };
}
