import type { FileDifference } from "../../application/ports/jobs.ts";
import { visible } from "./visible.ts";

/** One line of a difference; both numbers where it is unchanged. */
export interface DiffRow {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly before?: number;
  readonly after?: number;
  readonly text: string;
  /** Where a removed line and the added one in its place differ, in characters. */
  readonly mark?: readonly [from: number, to: number];
}

export interface FileDiff {
  readonly path: string;
  readonly kind: "added" | "modified" | "deleted";
  readonly added: number;
  readonly removed: number;
  readonly rows: readonly DiffRow[];
  /** Why there are no rows, or not all. */
  readonly note?: "binary" | "unknown" | "too-large" | "cut";
}

const MOST_BYTES = 1024 ** 2;
const MOST_ROWS = 1_500;
const COMPARE_MS = 1_000;

/** The differences of a job, file by file, as rows to draw. */
export async function fileDiffs(differences: readonly FileDifference[]): Promise<FileDiff[]> {
  const { structuredPatch } = await import("diff");
  const files: FileDiff[] = [];
  for (const { path, before, after } of differences) {
    const kind = before === null ? "added" : after === null ? "deleted" : "modified";
    const bare = (note: FileDiff["note"]): FileDiff => ({
      path,
      kind,
      added: 0,
      removed: 0,
      rows: [],
      ...(note !== undefined && { note }),
    });
    if (before === undefined || after === undefined) files.push(bare("unknown"));
    else if ((before?.length ?? 0) + (after?.length ?? 0) > MOST_BYTES) files.push(bare("too-large"));
    else if (isBinary(before) || isBinary(after)) files.push(bare("binary"));
    else {
      const patch = structuredPatch(path, path, decodeText(before), decodeText(after), "", "", {
        context: 3,
        timeout: COMPARE_MS,
      });
      if (patch === undefined) files.push(bare("too-large"));
      else files.push({ path, kind, ...rowsOf(patch.hunks) });
    }
  }
  return files;
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

function rowsOf(hunks: readonly Hunk[]): Pick<FileDiff, "rows" | "added" | "removed" | "note"> {
  const rows: DiffRow[] = [];
  let [added, removed] = [0, 0];
  for (const [n, { oldStart, newStart, lines }] of hunks.entries()) {
    if (n > 0 || oldStart > 1 || newStart > 1) rows.push({ kind: "gap", text: "" });
    let [before, after] = [oldStart, newStart];
    for (const line of lines) {
      const text = visible(line.slice(1));
      if (line.startsWith("+")) {
        rows.push({ kind: "added", after, text });
        after += 1;
        added += 1;
      } else if (line.startsWith("-")) {
        rows.push({ kind: "removed", before, text });
        before += 1;
        removed += 1;
      } else if (line.startsWith(" ")) {
        rows.push({ kind: "same", before, after, text });
        before += 1;
        after += 1;
      }
    }
  }
  const cut = rows.length > MOST_ROWS;
  return {
    added,
    removed,
    rows: markChanges(cut ? rows.slice(0, MOST_ROWS) : rows),
    ...(cut && { note: "cut" }),
  };
}

/** A block of removed lines directly before one of added lines: the n-th of both are the same line, changed. */
function markChanges(rows: readonly DiffRow[]): DiffRow[] {
  const result = [...rows];
  for (let at = 0; at < result.length; ) {
    const removed = runLength(result, at, "removed");
    const added = runLength(result, at + removed, "added");
    for (let n = 0; n < Math.min(removed, added); n += 1) {
      const [old, now] = [result[at + n] as DiffRow, result[at + removed + n] as DiffRow];
      const marks = differingMiddle(old.text, now.text);
      if (marks === null) continue;
      result[at + n] = { ...old, mark: marks[0] };
      result[at + removed + n] = { ...now, mark: marks[1] };
    }
    at += Math.max(1, removed + added);
  }
  return result;
}

function runLength(rows: readonly DiffRow[], from: number, kind: DiffRow["kind"]): number {
  let end = from;
  while (rows[end]?.kind === kind) end += 1;
  return end - from;
}

/** What lies between the common start and end; null when too little is common to be worth a mark. */
function differingMiddle(old: string, now: string): [[number, number], [number, number]] | null {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  if (start + end < Math.max(old.length, now.length) / 3) return null;
  return [
    [start, old.length - end],
    [start, now.length - end],
  ];
}

function isBinary(bytes: Uint8Array | null): boolean {
  return bytes?.subarray(0, 8_000).includes(0) === true;
}

function decodeText(bytes: Uint8Array | null): string {
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}
