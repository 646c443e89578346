import { accessSync, constants, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { GitHistory, Repository } from "../../application/ports/platform-view.ts";
import { isInside, isWithin } from "../../domain/platform/paths.ts";

/** Folders of the system, which no job can write to. */
const SYSTEM_FOLDERS = "/usr/bin /bin /usr/local/bin /opt/homebrew/bin /run/current-system/sw/bin".split(" ");

/** Git reads only the settings of the repository and never prompts. */
export const ISOLATED_GIT_ENV = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
} as const;

/** The system's git, for a question to a repository; null where there is no git. */
function systemGit() {
  const program = gitProgram(SYSTEM_FOLDERS, []);
  return program === null
    ? null
    : { program, env: { ...ISOLATED_GIT_ENV, PATH: SYSTEM_FOLDERS.join(delimiter), HOME: "/", LC_ALL: "C" } };
}

/** The first git outside the folders to avoid. */
export function gitProgram(folders: readonly string[], avoid: readonly string[]): string | null {
  for (const folder of folders) {
    try {
      const file = join(folder, "git");
      accessSync(file, constants.X_OK);
      if (!isWithin(realpathSync(file), avoid)) return isWithin(file, avoid) ? realpathSync(file) : file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** Long enough for the history of a large project; anything not found in this time counts as absent. */
const TIME_MS = 20_000;

/** Asks the workspace's own repository, which no job touches, by a git that reads its settings alone. Needed for protected files only. */
function createGitHistory(gitDirectory: string): GitHistory {
  const ask = (...args: string[]): string | null => {
    const git = systemGit();
    if (git === null) return null;
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const ran = spawnSync(git.program, ["--git-dir", gitDirectory, ...args], {
      cwd: "/",
      env: { ...git.env, GIT_LITERAL_PATHSPECS: "1", GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1" },
      encoding: "utf8",
      timeout: TIME_MS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return ran.status === 0 ? ran.stdout : null;
  };
  return {
    at(commit, path) {
      const listed = ask("ls-tree", "-z", "--full-tree", commit, "--", path);
      if (listed === null) return "unknown";
      return /^\d+ blob ([0-9a-f]+)\t/.exec(listed)?.[1] ?? "nothing";
    },
    had(path, object) {
      const search = "--no-show-signature --all HEAD --full-history -m -1 --format=%H".split(" ");
      return (ask("log", ...search, `--find-object=${object}`, "--", path) ?? "").trim() !== "";
    },
  };
}

/** The folder of a workspace's git state, found without git itself. */
export type GitPlaces = ReturnType<typeof gitPlacesAt>;

export function findGit(workspace: string): GitPlaces | null {
  for (let at = workspace; ; at = dirname(at)) {
    const found = gitAt(at);
    if (found !== null) return found;
    if (dirname(at) === at) return null;
  }
}

/** Longer than any path. */
const MOST_POINTER_BYTES = 64 * 1024;

/** Throws where there is no file, or one that git would not have written: a device, a pipe, a long one. */
function readShort(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() || stats.size > MOST_POINTER_BYTES) throw new Error(`no file of git's: ${path}`);
  return readFileSync(path, "utf8");
}

function gitAt(folder: string): GitPlaces | null {
  const dotGit = join(folder, ".git");
  const stats = lstatSync(dotGit, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  try {
    if (stats.isDirectory()) return readShort(join(dotGit, "HEAD")) ? gitPlacesAt(folder, dotGit) : null;
    if (!stats.isFile()) return null;
    const pointer = /^gitdir: (.*)$/m.exec(readShort(dotGit))?.[1];
    return pointer === undefined ? null : gitPlacesAt(folder, realpathSync(resolve(folder, pointer)));
  } catch {
    return null;
  }
}

/** `topLevel` holds `.git`; `gitDirectory` is the git directory proper (`.git`, or what the `.git` file points to). */
function gitPlacesAt(topLevel: string, gitDirectory: string) {
  /** The directory shared by worktrees; often the same. */
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
