import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { Repository } from "../../application/ports/jobs-transaction.ts";
import { createGitHistory } from "./git-history.ts";

/** Where the git state of a workspace lies; found by looking, git itself is not needed. */
export interface GitPlaces {
  /** The folder that holds `.git`; the workspace or a folder above it. */
  readonly topLevel: string;
  /** The git directory proper (`.git`, or what the `.git` file points to). */
  readonly gitDirectory: string;
  /** The directory shared by worktrees; often the same. */
  readonly commonDirectory: string;
}

export function findGit(workspace: string): GitPlaces | null {
  for (let at = workspace; ; at = dirname(at)) {
    const found = gitAt(at);
    if (found !== null) return found;
    if (dirname(at) === at) return null;
  }
}

function gitAt(folder: string): GitPlaces | null {
  const dotGit = join(folder, ".git");
  const stats = lstatSync(dotGit, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  try {
    if (stats.isDirectory())
      return readFileSync(join(dotGit, "HEAD"), "utf8") ? gitPlacesAt(folder, dotGit) : null;
    if (!stats.isFile()) return null;
    const pointer = /^gitdir: (.*)$/m.exec(readFileSync(dotGit, "utf8"))?.[1];
    return pointer === undefined ? null : gitPlacesAt(folder, realpathSync(resolve(folder, pointer)));
  } catch {
    return null;
  }
}

function gitPlacesAt(topLevel: string, gitDirectory: string): GitPlaces {
  let commonDirectory = gitDirectory;
  try {
    const common = readFileSync(join(gitDirectory, "commondir"), "utf8").trim();
    commonDirectory = realpathSync(isAbsolute(common) ? common : join(gitDirectory, common));
  } catch {
    // Not a worktree: the git directory is its own.
  }
  return { topLevel, gitDirectory, commonDirectory };
}

/** The folders a job with commands must cover: the workspace or its repository, and a git directory outside of it. */
export function rootsFor(workspace: string): string[] {
  const git = findGit(workspace);
  if (git === null) return [workspace];
  const roots = [git.topLevel];
  if (!isInside(git.topLevel, git.commonDirectory)) roots.push(git.commonDirectory);
  return roots;
}

export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** The workspace's repository as paths relative to the workspace; null when it has none. */
export function repositoryOf(workspace: string): Repository | null {
  const git = findGit(workspace);
  if (git === null) return null;
  return {
    workspaceAt: relative(git.topLevel, workspace),
    index: relative(workspace, join(git.gitDirectory, "index")),
    objects: relative(workspace, join(git.commonDirectory, "objects")),
    history: createGitHistory(git.gitDirectory),
  };
}
