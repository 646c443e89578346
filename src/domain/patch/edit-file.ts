import type { Hunk, HunkReport } from "./patch-command.ts";
import { applyHunks, type MatchRule } from "./apply-hunks.ts";
import { applyAsClaimed } from "./as-claimed.ts";
import { fromBytesText, joinBytes, toBytesText } from "./patch-text.ts";
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

/** A UTF-16 file with a byte order mark, as UTF-8 bytes text to be edited, and the way back. */
interface WideText {
  readonly text: string;
  encode(text: string): Uint8Array;
}

/** Null for anything that is not UTF-16 with a mark, or would not survive the way there and back. */
function readWideText(bytes: Uint8Array): WideText | null {
  const little = bytes[0] === 0xff && bytes[1] === 0xfe;
  const big = bytes[0] === 0xfe && bytes[1] === 0xff;
  if ((!little && !big) || bytes.length % 2 !== 0) return null;
  const encode = (text: string): Uint8Array => {
    const out = Buffer.from(`\ufeff${Buffer.from(fromBytesText(text)).toString("utf8")}`, "utf16le");
    return big ? out.swap16() : out;
  };
  const copy = Buffer.from(bytes.slice(2));
  const text = toBytesText((big ? copy.swap16() : copy).toString("utf16le"));
  return Buffer.compare(encode(text), bytes) === 0 ? { text, encode } : null;
}
