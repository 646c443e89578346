import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isAbsence } from "../folder/identity.ts";
import type { Op } from "./job-folder.ts";

const NAMED = 3;

/** Changed files that have another name: a commit puts a new file in the place of one name, and the others keep the old. */
export function partedLinks(ops: readonly Op[], roots: readonly string[]): string[] {
  const parted = ops.filter(({ a, b, inPlace, root, path, area }) => {
    if (a?.kind !== "file" || b?.kind !== "file" || inPlace === true || area !== "file") return false;
    return namesOf(join(roots[root] as string, path)) > 1;
  });
  if (parted.length === 0) return [];
  const names = parted.slice(0, NAMED).map(({ path }) => path);
  const rest = parted.length > NAMED ? ` and ${parted.length - NAMED} more` : "";
  return [`${names.join(", ")}${rest}: its other names (hard links) keep the former contents`];
}

function namesOf(path: string): number {
  try {
    return lstatSync(path).nlink;
  } catch (error) {
    if (isAbsence(error)) return 0;
    throw error;
  }
}
