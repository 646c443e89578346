import type { Change } from "../../domain/jobs/result.ts";
import type { GitSetting } from "../../domain/policy/git-config.ts";
import { mayMatterToGit } from "../../domain/policy/git-names.ts";
import { isHarmlessSetting, revertSettings } from "../../domain/policy/git-files.ts";
import { isGitName } from "../../domain/policy/protection.ts";
import type { BeforeAndAfter } from "../ports/jobs-transaction.ts";
import { createGitDirectories, type GitDirectories } from "./git-directories.ts";

/** Why a change may not stay; `without` is the file without what may not, where the rest may. */
export interface GitFinding {
  readonly why: string;
  readonly without?: Uint8Array;
}

export interface GitGuard {
  forbids(change: Change): GitFinding | null;
  /** Whether a path lies in a folder that is named as git names its own. */
  isInside(path: string): boolean;
}

/**
 * Finds changes to git directories that would let a job run programs later, when the user calls git outside of any
 * sandbox. A git directory is told by what it holds, not by its name. What the job deletes is its own business.
 */
export function createGitGuard(sides: BeforeAndAfter): GitGuard {
  const directories = createGitDirectories(sides);
  return {
    isInside: (path) => path.split("/").slice(0, -1).some(isGitName),
    forbids(change) {
      const { path, kind } = change;
      if (kind === "deleted") return null;
      if (isGitName(baseName(path))) return entryFinding(sides, change);
      if (!mayMatterToGit(path)) return null;
      for (const directory of directories.above(path)) {
        const inside = directory === "" ? path : path.slice(directory.length + 1);
        const found = findingIn(sides, directories, { path, directory, inside });
        if (found !== null) return found;
      }
      return null;
    },
  };
}

interface GitPath {
  readonly path: string;
  readonly directory: string;
  /** The path below the git directory. */
  readonly inside: string;
}

function findingIn(sides: BeforeAndAfter, directories: GitDirectories, place: GitPath): GitFinding | null {
  const { path, directory, inside } = place;
  const isFolder = () => sides.look(path, "after")?.kind === "directory";
  const [top = "", ...below] = inside.toLowerCase().split("/");
  if (
    /^(head|objects|refs|commondir)$/.test(inside.toLowerCase()) &&
    isBornBad(sides, directories, directory)
  )
    return { why: `a git directory cannot be made of these files by a job: ${directory || "."}` };
  switch (top) {
    case "hooks":
      if (isFolder() || below.at(-1)?.endsWith(".sample")) return null;
      return below.length > 0
        ? { why: `git hooks cannot be installed by a job: ${path}` }
        : { why: `the folder of git hooks cannot be replaced by a job: ${path}` };
    case "remotes":
    case "branches":
      if (isFolder()) return null;
      return { why: `remotes of git cannot be described in files by a job: ${path}` };
    case "rebase-merge":
    case "sequencer":
      return todoFinding(sides, path);
    case "commondir": {
      const isWorktrees = /(^|\/)worktrees\/[^/]+$/.test(directory);
      const leads = latin1Text(sides.current(path)).trim();
      if ((isWorktrees && leads === "../..") || leads === latin1Text(sides.original(path)).trim())
        return null;
      return { why: `a git directory cannot be replaced by a job: ${path}` };
    }
    case "config":
    case "config.worktree":
      return below.length > 0 || isFolder() ? null : settingsFinding(sides, directories, place);
    default:
      return null;
  }
}

/** `.git` itself: a folder may come, a file may lead to where git keeps submodules and worktrees. */
function entryFinding(sides: BeforeAndAfter, { path, kind }: Change): GitFinding | null {
  const was = sides.look(path, "before");
  const isFolder = sides.look(path, "after")?.kind === "directory";
  if (isFolder && (was === null || was.kind === "directory")) return null;
  const pointer = sides.current(path);
  const isOrdinary = pointer !== null && ORDINARY_POINTER.test(latin1Text(pointer));
  if (kind === "added" && isOrdinary) return null;
  return { why: `a git directory cannot be replaced by a job: ${path}` };
}

/** Where git itself puts the directories of submodules and worktrees. */
const ORDINARY_POINTER = /^gitdir: [^\n]*\.git\/(modules|worktrees)\/[^\n]+\n?$/;

/** A folder that becomes a git directory brings what lay in it before, which nobody has judged as git's. */
function isBornBad(sides: BeforeAndAfter, directories: GitDirectories, directory: string): boolean {
  if (directories.is(directory, "before") || !directories.is(directory, "after")) return false;
  const at = (name: string) => (directory === "" ? name : `${directory}/${name}`);
  if (sides.look(at("hooks"), "before") !== null) return true;
  return ["config", "config.worktree"].some((name) => {
    const path = at(name);
    const settings = sides.original(path);
    const stands = sides.look(path, "before");
    if (stands === null) return false;
    return settings === null || revertSettings("", latin1Text(settings)) !== null;
  });
}

function settingsFinding(
  sides: BeforeAndAfter,
  directories: GitDirectories,
  place: GitPath,
): GitFinding | null {
  const { path, directory } = place;
  const bytes = sides.current(path);
  if (bytes === null) return { why: `the settings of git cannot be replaced by a link: ${path}` };
  const read = directories.is(directory, "before") ? sides.original(path) : null;
  const allowed = (setting: GitSetting) => isHarmlessSetting(setting) || isSubmodulesPlace(path, setting);
  const taken = revertSettings(latin1Text(read), latin1Text(bytes), allowed);
  if (taken === null) return null;
  const names = Buffer.from(taken.names.join(", "), "latin1").toString();
  const why = `git settings that run programs cannot be set by a job: ${names} (${path})`;
  if (taken.text === null || (read !== null && taken.text === latin1Text(read))) return { why };
  return { why, without: Buffer.from(taken.text, "latin1") };
}

/** The directory of a submodule says where its files lie: as many steps up as its own name has, and down again. */
function isSubmodulesPlace(path: string, { name, value }: GitSetting): boolean {
  const module = /(?:^|\/)\.git\/modules\/(.+)\/config$/.exec(path)?.[1];
  if (module === undefined || name !== "core.worktree") return false;
  const up = "../".repeat(module.split("/").length + 2);
  return value.startsWith(up) && !value.slice(up.length).split("/").includes("..");
}

/** What is left to do of a rebase may name commands, which the user's `git rebase --continue` would run. */
function todoFinding(sides: BeforeAndAfter, path: string): GitFinding | null {
  const bytes = sides.current(path);
  if (bytes === null) return null;
  const known = new Set(latin1Text(sides.original(path)).split("\n"));
  const lines = latin1Text(bytes).split("\n");
  const kept = lines.filter((line) => known.has(line) || !/^[ \t]*(exec|x)([ \t]|$)/.test(line));
  if (kept.length === lines.length) return null;
  const why = `commands cannot be left to a rebase by a job: ${path}`;
  return { why, without: Buffer.from(kept.join("\n"), "latin1") };
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** One character a byte, so that a text can be cut and written back as it was. */
function latin1Text(bytes: Uint8Array | null): string {
  return bytes === null ? "" : Buffer.from(bytes).toString("latin1");
}
