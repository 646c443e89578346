import { readGitIndex } from "../../domain/policy/git-index.ts";
import { hashHex } from "../platform/hash.ts";
import type { Op } from "./job-folder.ts";

/**
 * Which rules a path follows. Inside a git directory that existed before the job, state (refs, index, logs) goes
 * back only where it still stands as the job left it, and objects that the job added are never taken away.
 */
export function areaOf(
  path: string,
  rootIsGitDirectory: boolean,
  isNewRepository: (gitDirectory: string) => boolean,
): Op["area"] {
  const inside = rootIsGitDirectory ? path : insideGitDirectory(path, isNewRepository);
  if (inside === null) return "file";
  return /(^|\/)objects\//.test(`${inside}/`) ? "object" : "git";
}

function insideGitDirectory(path: string, isNewRepository: (gitDirectory: string) => boolean): string | null {
  const parts = path.split("/");
  const at = parts.indexOf(".git");
  if (at < 0 || at === parts.length - 1) return null;
  if (isNewRepository(parts.slice(0, at + 1).join("/"))) return null;
  return parts.slice(at + 1).join("/");
}

/** Also in a repository that the job made, whose files follow the rules of files. */
export function isIndexFile(path: string, area: Op["area"]): boolean {
  if (area === "file") return /(^|\/)\.git\/(.*\/)?index$/.test(path);
  return area === "git" && mayBeIndex(path);
}

/** Whether a file may be an index, which is compared by what it lists. */
export function mayBeIndex(path: string): boolean {
  return path === "index" || path.endsWith("/index");
}

/** What an index lists (mode, object, stage, path), without the stat cache that `git status` refreshes. */
export function indexKey(bytes: Uint8Array): string | null {
  const entries = readGitIndex(bytes);
  if (entries === null) return null;
  return `index:${hashHex("sha256", ...entries.flatMap(({ listed }) => listed))}`;
}
