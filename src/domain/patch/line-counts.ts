import { compareLines, isBinaryContent } from "./compare-lines.ts";

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
