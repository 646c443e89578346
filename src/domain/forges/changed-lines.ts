import { cleanPath, headerFileName } from "../patch/formats/unified-diff/diff-file-names.ts";

/** The lines that a patch removes, or inserts before, by path, in the numbers of the files as they were. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

/** Lines around a comment within which a change counts as one at the comment. */
const NEAR = 3;

/** Of a patch as git writes it. Files without text have no lines. */
export function changedLines(patch: Uint8Array): ChangedLines {
  const text = Buffer.from(patch.buffer, patch.byteOffset, patch.byteLength).toString("latin1");
  const found = new Map<string, Set<number>>();
  let lines: Set<number> | undefined;
  let [old, oldLeft, newLeft] = [0, 0, 0];
  for (const line of text.split("\n")) {
    if (oldLeft > 0 || newLeft > 0) {
      // Within a hunk nothing is a header, whatever it looks like.
      if (line.startsWith("\\")) continue;
      if (!line.startsWith(" ")) lines?.add(old);
      if (!line.startsWith("-")) newLeft--;
      if (line.startsWith("+")) continue;
      oldLeft--;
      old++;
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      [oldLeft, newLeft] = [Number(hunk[2] ?? 1), Number(hunk[3] ?? 1)];
      // Of a hunk without old lines, the number is that of the line before.
      old = Number(hunk[1]) + (oldLeft === 0 ? 1 : 0);
    } else if (line.startsWith("--- a/") || line.startsWith('--- "a/')) {
      lines = new Set();
      found.set(cleanPath(headerFileName(line.slice(4)).slice(2)), lines);
    } else if (line.startsWith("diff --git ")) lines = undefined;
  }
  return found;
}

export function isChangedNear(changed: ChangedLines, path: string, line: number): boolean {
  const lines = changed.get(path);
  for (let at = line - NEAR; lines !== undefined && at <= line + NEAR; at++) if (lines.has(at)) return true;
  return false;
}
