import type { Hunk, HunkReport } from "../edit.ts";
import { applyHunks, type MatchRule } from "./apply-hunks.ts";
import { applyAsClaimed } from "./as-claimed.ts";
import { fromBytesText, joinBytes, toBytesText } from "./bytes.ts";
import { readWideText } from "./wide-text.ts";
import type { WorkBudget } from "./work-budget.ts";

export interface FileEdited {
  readonly ok: boolean;
  readonly bytes: Uint8Array;
  readonly reports: readonly HunkReport[];
}

/** Applies hunks to a file's bytes. UTF-16 with a mark is edited as text when its bytes as such do not match. */
export function editFile(
  path: string,
  bytes: Uint8Array,
  hunks: readonly Hunk[],
  rule: MatchRule,
  budget: WorkBudget,
): FileEdited {
  const wide = readWideText(bytes);
  if (wide !== null) {
    const done = applyHunks(path, wide.text, hunks, rule, budget);
    if (done.ok) return { ok: true, bytes: wide.encode(done.text), reports: done.reports };
    const raw = applyHunks(path, toBytesText(bytes), hunks, rule, budget);
    return raw.ok
      ? { ok: true, bytes: fromBytesText(raw.text), reports: raw.reports }
      : { ok: false, bytes, reports: done.reports };
  }
  const text = toBytesText(bytes);
  const claimed = rule === "diff" && budget.left > 0 ? applyAsClaimed(path, text, hunks) : null;
  if (claimed !== null) return { ok: true, bytes: joinBytes(claimed.parts), reports: claimed.reports };
  const done = applyHunks(path, text, hunks, rule, budget);
  return { ok: done.ok, bytes: done.ok ? fromBytesText(done.text) : bytes, reports: done.reports };
}
