import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import type { Op } from "./job-folder.ts";

/**
 * Changed files that could not keep their owner or group: who is not in a group cannot give a file to it, and nobody but
 * root gives files to others. Root changes owners on purpose.
 */
export function lostOwners(ops: readonly Op[]): SealNote[] {
  if (process.getuid?.() === 0) return [];
  const notes: SealNote[] = [];
  for (const { a, b, path } of ops) {
    if (a?.kind !== "file" || b?.kind !== "file") continue;
    if (a.uid !== b.uid) notes.push(sealNote("owner", path));
    if (a.gid !== b.gid) notes.push(sealNote("group", path));
  }
  return notes;
}
