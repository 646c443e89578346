import type { Change } from "../../domain/patch/result.ts";
import { type GitSetting, newProgramSettings } from "../../domain/policy/git-config.ts";
import type { Sides } from "../ports/transaction.ts";

/** Why a change may not stay; `without` is the file without what may not, where the rest may. */
export interface GitFinding {
  readonly why: string;
  readonly without?: Uint8Array;
}

export interface GitGuard {
  forbids(change: Change): GitFinding | null;
  /** Whether a path lies in a git directory. */
  isInside(path: string): boolean;
}

/**
 * Finds changes to git directories that would let a job run programs later, when the user calls git outside of any
 * sandbox. What the job deletes is its own business.
 */
export function createGitGuard(sides: Sides, _changes: readonly Change[]): GitGuard {
  return {
    isInside: insideGit,
    forbids(change) {
      const why = gitForbids(sides, change);
      return why === null ? null : { why };
    },
  };
}

function gitForbids(sides: Sides, { path, kind }: Change): string | null {
  if (kind === "deleted") return null;
  const now = () => sides.current(path);
  const isNoFolder = () => sides.look(path, "after")?.kind !== "directory";
  if (isGitEntry(path)) {
    const pointer = now();
    const leadsAway = pointer === null ? isNoFolder() : !ORDINARY_POINTER.test(textOf(pointer));
    return (kind === "modified" && isNoFolder()) || leadsAway
      ? `a git directory cannot be replaced by a job: ${path}`
      : null;
  }
  if (!insideGit(path)) return null;
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "hooks" && now() === null)
    return isNoFolder() ? `the folder of git hooks cannot be replaced by a job: ${path}` : null;
  if (/(^|\/)hooks\/./.test(path)) {
    if (path.endsWith(".sample") || !isNoFolder()) return null;
    return `git hooks cannot be installed by a job: ${path}`;
  }
  if (name === "commondir") {
    const isWorktrees = /\.git\/worktrees\/[^/]+\/commondir$/.test(path);
    if (isWorktrees && textOf(now() ?? NOTHING).trim() === "../..") return null;
    return `a git directory cannot be replaced by a job: ${path}`;
  }
  if (name !== "config" && name !== "config.worktree") return null;
  const bytes = now();
  if (bytes === null)
    return isNoFolder() ? `the settings of git cannot be replaced by a link: ${path}` : null;
  const added = newProgramSettings(textOf(sides.original(path) ?? NOTHING), textOf(bytes)).filter(
    (setting) => !isSubmodulesPlace(path, setting),
  );
  if (added.length === 0) return null;
  const names = [...new Set(added.map((setting) => setting.name))].join(", ");
  return `git settings that run programs cannot be set by a job: ${names} (${path})`;
}

/** The directory of a submodule says where its files lie: as many steps up as its own name has, and down again. */
function isSubmodulesPlace(path: string, { name, value }: GitSetting): boolean {
  const module = /(?:^|\/)\.git\/modules\/(.+)\/config$/.exec(path)?.[1];
  if (module === undefined || name !== "core.worktree") return false;
  const up = "../".repeat(module.split("/").length + 2);
  return value.startsWith(up) && !value.slice(up.length).split("/").includes("..");
}

const NOTHING = new Uint8Array();

/** Where git itself puts the directories of submodules and worktrees. */
const ORDINARY_POINTER = /^gitdir: [^\n]*\.git\/(modules|worktrees)\/[^\n]+\n?$/;

function isGitEntry(path: string): boolean {
  return path === ".git" || path.endsWith("/.git");
}

function insideGit(path: string): boolean {
  return /(^|\/)\.git\//.test(path);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
