import type { Change } from "../../domain/jobs/result.ts";
import { readGitIndex } from "../../domain/policy/git-index.ts";
import { createIgnoreMatcher } from "../../domain/policy/ignored.ts";
import type { BeforeAndAfter } from "../ports/jobs-transaction.ts";

/**
 * By path: what git ignores of a job's changes, by the rules that the job leaves. What git tracks, before or after, is not
 * ignored, whatever the rules say.
 */
export function ignoredChanges(
  sides: BeforeAndAfter,
  changes: readonly Change[],
): ReadonlyMap<string, string> {
  const { repository } = sides;
  const found = new Map<string, string>();
  if (repository === null) return found;
  const ignored = createIgnoreMatcher({ read: (path) => text(sides.current(path)), includeIgnored: false });
  const topmost = createTopmost(ignored.has);
  for (const { path, kind } of changes) {
    if (path.startsWith("../") || GIT.test(path)) continue;
    const folder = () => sides.look(path, kind === "deleted" ? "before" : "after")?.kind === "directory";
    const top = topmost(path, folder);
    if (top !== null) found.set(path, top);
  }
  if (found.size === 0) return found;
  const prefix = repository.workspaceAt === "" ? "" : `${repository.workspaceAt}/`;
  for (const bytes of [sides.original(repository.index), sides.current(repository.index)])
    for (const { path } of (bytes === null ? null : readGitIndex(bytes)) ?? [])
      if (path.startsWith(prefix)) found.delete(path.slice(prefix.length));
  return found;
}

const GIT = /(^|\/)\.git(\/|$)/;

/** What git ignores of a path: itself, or the uppermost folder above. Folders are asked about once. */
function createTopmost(has: (path: string, isFolder: boolean) => boolean) {
  const folders = new Map<string, string | null>();
  const topOf = (folder: string): string | null => {
    if (folder === "") return null;
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const top = topOf(parentOf(folder)) ?? (has(folder, true) ? `${folder}/` : null);
    folders.set(folder, top);
    return top;
  };
  return (path: string, isFolder: () => boolean): string | null => {
    const above = topOf(parentOf(path));
    if (above !== null) return above;
    const folder = isFolder();
    return has(path, folder) ? `${path}${folder ? "/" : ""}` : null;
  };
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
