/** How many lines a change adds and removes. */
export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** Cells of the table beyond which the exact count is not worth its time. */
const MOST_CELLS = 4_000_000;

/** Null for what is no text. */
export function countLines(before: Uint8Array | null, after: Uint8Array | null): LineCounts | null {
  const [old, now] = [linesOf(before), linesOf(after)];
  if (old === null || now === null) return null;
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let [oldEnd, nowEnd] = [old.length, now.length];
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd--;
    nowEnd--;
  }
  const kept = common(old.slice(start, oldEnd), now.slice(start, nowEnd));
  return { added: nowEnd - start - kept, removed: oldEnd - start - kept };
}

function linesOf(bytes: Uint8Array | null): string[] | null {
  if (bytes === null) return [];
  if (bytes.subarray(0, 8000).includes(0)) return null;
  const lines = Buffer.from(bytes).toString().split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The length of the longest common subsequence; 0 where finding it would take too long. */
function common(old: readonly string[], now: readonly string[]): number {
  if (old.length * now.length > MOST_CELLS) return 0;
  let row = new Uint32Array(now.length + 1);
  for (const line of old) {
    const next = new Uint32Array(now.length + 1);
    for (let at = 1; at <= now.length; at++)
      next[at] = now[at - 1] === line ? (row[at - 1] ?? 0) + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0);
    row = next;
  }
  return row[now.length] ?? 0;
}
