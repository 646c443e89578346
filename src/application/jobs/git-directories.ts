import { isGitName } from "../../domain/policy/protection.ts";
import type { BeforeAndAfter } from "../ports/jobs-transaction.ts";

export type BeforeOrAfter = "before" | "after";

export interface GitDirectories {
  /** Paths as in change sets; the workspace itself is empty. Whether git would take a folder for a git directory: it has a HEAD, and objects and refs of its own or elsewhere. */
  is(folder: string, when: BeforeOrAfter): boolean;
  /** The folders above a path that are git directories, before or after the job, or are named like one; outermost first. */
  above(path: string): readonly string[];
}

export function createGitDirectories(sides: BeforeAndAfter): GitDirectories {
  const known = new Map<string, boolean>();
  function is(folder: string, when: BeforeOrAfter): boolean {
    const key = `${when}:${folder}`;
    const seen = known.get(key);
    if (seen !== undefined) return seen;
    const has = (name: string) => sides.look(folder === "" ? name : `${folder}/${name}`, when) !== null;
    const found = has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
    known.set(key, found);
    return found;
  }
  return {
    is,
    above(path) {
      const parts = path.split("/");
      // The workspace itself may be made a git directory too.
      const folders = parts.map((_, i) => parts.slice(0, i).join("/"));
      return folders.filter(
        (folder) =>
          isGitName(folder.slice(folder.lastIndexOf("/") + 1)) || is(folder, "before") || is(folder, "after"),
      );
    },
  };
}
