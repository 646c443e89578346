import { lstatSync } from "node:fs";
import { join } from "node:path";
import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import { isAbsence } from "./entry-identity.ts";
import type { Op } from "./job-folder.ts";

/** Changed files that have another name: a commit puts a new file in the place of one name, and the others keep the old. */
export function partedLinks(ops: readonly Op[], roots: readonly string[]): SealNote[] {
  const parted = ops.filter(({ a, b, inPlace, root, path, area }) => {
    if (a?.kind !== "file" || b?.kind !== "file" || inPlace === true || area !== "file") return false;
    return namesOf(join(roots[root] as string, path)) > 1;
  });
  return parted.length === 0 ? [] : [sealNote("other-names", ...parted.map(({ path }) => path))];
}

function namesOf(path: string): number {
  try {
    return lstatSync(path).nlink;
  } catch (error) {
    if (isAbsence(error)) return 0;
    throw error;
  }
}
