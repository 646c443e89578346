/**
 * Where a workspace's repository is, and how far the workspace's jobs reach with it.
 * In: the real path of a workspace. Out: the places of its own repository, and the folders that a job must cover.
 * Invariant: git is found without a process if the workspace holds its own `.git` or none is above it; a repository above
 * opens nothing before it is known to be the workspace's own, and a job that has begun keeps the reach that it began with.
 */
import { accessSync, constants, existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { GitHistory, Repository } from "../../application/ports/platform-view.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { type ForeignRepository, findInGitIndex } from "../../domain/platform/git-index.ts";
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

/** What the system's git prints about a repository, reading its settings alone; null where it fails. */
function askGit(gitDirectory: string, args: readonly string[], { mayCut = false } = {}): string | null {
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
  return ran.status === 0 || mayCut ? ran.stdout : null;
}

/** Asks the workspace's own repository, which no job touches. Needed for protected files only. */
function createGitHistory(gitDirectory: string): GitHistory {
  const ask = (...args: string[]) => askGit(gitDirectory, args);
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

/** The places of a repository, found without git itself. */
export type GitPlaces = ReturnType<typeof gitPlacesAt>;

/** How far the jobs of a workspace reach. */
interface Reach {
  /** The workspace's own repository. */
  readonly git: GitPlaces | null;
  /** The repository above the workspace that is not its own: the reach is the workspace alone. */
  readonly foreign: ForeignRepository | null;
}

/**
 * Which repository is the workspace's own: that of its own `.git`, wherever the git folder lies; else the nearest above it, if its
 * root is neither a home nor above one, root and git folder pass git's ownership rule, and it tracks a file in the workspace or
 * in the folder that holds the workspace. A git folder outside counts only if it says itself that it is of this folder (decision 102).
 */
export function findReach(workspace: string): Reach {
  const git = findNearestGit(workspace);
  if (git === null) return { git, foreign: null };
  const why = !isOfItsFolder(git)
    ? "elsewhere"
    : git.topLevel === workspace
      ? null
      : whyForeign(workspace, git);
  return why === null ? { git, foreign: null } : { git: null, foreign: { topLevel: git.topLevel, why } };
}

function findNearestGit(workspace: string): GitPlaces | null {
  for (let at = workspace; ; at = dirname(at)) {
    const git = gitAt(at);
    if (git !== null || dirname(at) === at) return git === "unusable" ? null : git;
  }
}

/** The workspace's own repository. */
export function findGit(workspace: string): GitPlaces | null {
  return findReach(workspace).git;
}

/** Where a job's git must not look for a repository: above the job's reach. */
export function gitCeiling([top = "/"]: readonly string[]): Readonly<Record<string, string>> {
  return { GIT_CEILING_DIRECTORIES: dirname(top) };
}

/** What PicoClaw's own git sees in a folder: the folder's own repository, or none. */
export function ownGitOnly(folder: string): Readonly<Record<string, string>> {
  return findGit(folder) === null ? { GIT_DIR: "/dev/null" } : {};
}

/** Longer than any path. */
const MOST_POINTER_BYTES = 64 * 1024;

/** Throws where there is no file, or one that git would not have written: a device, a pipe, a long one. */
function readShort(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() || stats.size > MOST_POINTER_BYTES) throw new Error(`no file of git's: ${path}`);
  return readFileSync(path, "utf8");
}

/** Git passes over a `.git` folder that is none of its own, and fails at a `.git` file that leads nowhere. */
function gitAt(folder: string): GitPlaces | "unusable" | null {
  const dotGit = join(folder, ".git");
  const stats = lstatSync(dotGit, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (stats.isDirectory())
    return attemptOr(null, () => (readShort(join(dotGit, "HEAD")) ? gitPlacesAt(folder, dotGit) : null));
  return attemptOr("unusable", () => {
    const pointer = stats.isFile() ? /^gitdir: (.*)$/m.exec(readShort(dotGit))?.[1] : undefined;
    if (pointer === undefined) return "unusable";
    const places = gitPlacesAt(folder, realpathSync(resolve(folder, pointer)));
    readShort(join(places.gitDirectory, "HEAD"));
    return isShared(places.commonDirectory) ? places : "unusable";
  });
}

/** `topLevel` holds `.git`; `gitDirectory` is the git directory proper (`.git`, or what the `.git` file points to). */
function gitPlacesAt(topLevel: string, gitDirectory: string) {
  /** The directory shared by worktrees; often the same. A file of a stranger's workspace may name any folder. */
  const commonDirectory = attemptOr(gitDirectory, () => {
    const common = realpathSync(resolve(gitDirectory, readShort(join(gitDirectory, "commondir")).trim()));
    return isShared(common) ? common : gitDirectory;
  });
  return { topLevel, gitDirectory, commonDirectory };
}

/** Whether git takes a folder for one that holds a repository's objects and branches. */
function isShared(folder: string): boolean {
  return ["objects", "refs"].every((name) =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory(),
  );
}

/**
 * Whether the git folder is the folder's own: it lies there, or it says so itself. A linked worktree's names its folder, a
 * submodule's has a setting, and the index of any other knows a file of the folder. A `.git` that came with the files may name
 * every git folder of the user.
 */
function isOfItsFolder(git: GitPlaces): boolean {
  const { topLevel, gitDirectory, commonDirectory } = git;
  if (isInside(topLevel, gitDirectory) && isInside(topLevel, commonDirectory)) return true;
  if (commonDirectory !== gitDirectory) {
    if (dirname(gitDirectory) !== join(commonDirectory, "worktrees")) return false;
    const back = attemptOr("", () => readShort(join(gitDirectory, "gitdir")).trim());
    return isSame(resolve(gitDirectory, back), join(topLevel, ".git")) || knowsFilesOf(git);
  }
  const settings = ["config", "config.worktree"]
    .map((file) => attemptOr("", () => readShort(join(gitDirectory, file))))
    .join("\n");
  const worktree = /^\s*worktree\s*=\s*"?(.*?)"?\s*$/im.exec(settings)?.[1];
  if (worktree !== undefined) return isSame(resolve(gitDirectory, worktree), topLevel);
  // The `.git` of another folder, and a bare repository, have no second folder.
  if (basename(gitDirectory) === ".git" || /^\s*bare\s*=\s*true\s*$/im.test(settings)) return false;
  return isEmpty(gitDirectory) || knowsFilesOf(git);
}

const isSame = (one: string, other: string) =>
  attemptOr(false, () => realpathSync(one) === realpathSync(other));

/** A repository just made holds nothing that could be read. */
const isEmpty = (gitDirectory: string) =>
  ["index", "packed-refs", "logs/HEAD"].every((file) => !existsSync(join(gitDirectory, file)));

/** Answers about git folders outside, each with the state of what it depends on. */
const known = new Map<string, { readonly state: string; readonly isOwn: boolean }>();

/** Whether the index knows a file of the folder by its time, which git wrote there and files that came along cannot guess. */
function knowsFilesOf({ topLevel, gitDirectory }: GitPlaces): boolean {
  const key = `${topLevel}\0${gitDirectory}`;
  const state = [topLevel, join(topLevel, ".git"), join(gitDirectory, "index")].map(stateOf).join();
  const before = known.get(key);
  if (before?.state === state) return before.isOwn;
  const listed = askGit(gitDirectory, [...AS_LISTED, "ls-files", "-z", "--debug"], { mayCut: true }) ?? "";
  const entry = /([^\0]+)\0\s+ctime: \S+\s+mtime: ([1-9]\d*):(\d+)(?:\n .*)+\n/g;
  const isOwn = [...listed.matchAll(entry)].some(([, path = "", seconds, nanoseconds]) => {
    const stats = attemptOr(undefined, () => lstatSync(join(topLevel, path), { throwIfNoEntry: false }));
    return Math.abs((stats?.mtimeMs ?? 0) - Number(seconds) * 1000 - Number(nanoseconds) / 1e6) < 1;
  });
  known.set(key, { state, isOwn });
  return isOwn;
}

function stateOf(path: string): string | undefined {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found && [found.dev, found.ino, found.uid, path.endsWith(".git") ? 0 : found.ctimeNs].join(":");
}

/** Answers about repositories above workspaces, each with the state of what it depends on. */
const judged = new Map<string, { readonly state: string; readonly why: ForeignRepository["why"] | null }>();

function whyForeign(workspace: string, git: GitPlaces): ForeignRepository["why"] | null {
  const { topLevel, gitDirectory } = git;
  const settings = [".gitconfig", ".config/git/config"].map((file) => join(homedir(), file));
  const state = [topLevel, join(topLevel, ".git"), gitDirectory, join(gitDirectory, "index"), ...settings]
    .map(stateOf)
    .join();
  const before = judged.get(workspace);
  if (before?.state === state) return before.why;
  const why = holdsHome(topLevel)
    ? "home"
    : !passesOwnership(git)
      ? "owner"
      : !tracksNear(workspace, git)
        ? "untracked"
        : null;
  judged.set(workspace, { state, why });
  return why;
}

/** Whether a folder is a home or above one, by its path or as the same folder under another: a bind mount shows it twice. */
function holdsHome(folder: string): boolean {
  const accounts = attemptOr("", () => readFileSync("/etc/passwd", "utf8")).split("\n");
  const named = accounts.map((line) => line.split(":")[5] ?? "");
  const homes = [homedir(), attemptOr("", () => userInfo().homedir), ...named];
  const seen = new Set<string>();
  const { dev, ino } = statSync(folder);
  for (const home of new Set(homes.filter((path) => isAbsolute(path) && path !== "/")))
    for (const path of [home, attemptOr(home, () => realpathSync(home))])
      for (let at = path; !seen.has(at); at = dirname(at)) {
        seen.add(at);
        const stats = attemptOr(undefined, () => statSync(at, { throwIfNoEntry: false }));
        if (at === folder || (stats?.dev === dev && stats.ino === ino)) return true;
      }
  return false;
}

/** Git's own rule, with `safe.directory` of the user's settings alone. Git is asked only if another user owns a part. */
function passesOwnership({ topLevel, gitDirectory }: GitPlaces): boolean {
  const user = process.geteuid?.();
  const parts = [topLevel, join(topLevel, ".git"), gitDirectory];
  if (user === undefined || parts.every((path) => lstatSync(path).uid === user)) return true;
  const git = systemGit();
  if (git === null) return false;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  // The process's own variables name the user's settings, and the user who called sudo.
  const ask = 'exec env -i HOME="$HOME" XDG_CONFIG_HOME="$XDG_CONFIG_HOME" SUDO_UID="$SUDO_UID" "$@"';
  const asked = [`PATH=${git.env.PATH}`, "GIT_CONFIG_NOSYSTEM=1", git.program, "rev-parse", "--git-dir"];
  const ran = spawnSync("/bin/sh", ["-c", ask, "sh", ...asked], {
    cwd: topLevel,
    stdio: "ignore",
    timeout: TIME_MS,
  });
  return ran.status === 0;
}

/** An index is listed without a look at the files. */
const AS_LISTED = ["--work-tree", "/", "-c", "core.fsmonitor=false"];

/** Whether the repository tracks a file in the workspace or in the folder that holds it. */
function tracksNear(workspace: string, { topLevel, gitDirectory, commonDirectory }: GitPlaces): boolean {
  const holder = relative(topLevel, dirname(workspace));
  const index = attemptOr(null, () => readFileSync(join(gitDirectory, "index")));
  if (index === null) return false;
  const prefix = holder === "" ? "" : `${holder}/`;
  const config = attemptOr("", () => readShort(join(commonDirectory, "config")));
  const found = /objectformat/i.test(config) ? null : findInGitIndex(index, Buffer.from(prefix));
  if (found !== null) return found;
  return (
    (askGit(gitDirectory, [...AS_LISTED, "ls-files", "-z", "--", prefix || "."], { mayCut: true }) ?? "") !==
    ""
  );
}

/** The folders a job with commands must cover: the workspace or its repository, and a git directory outside of it. */
export function rootsFor(workspace: string): string[] {
  return rootsOf(workspace, findGit(workspace));
}

/** The roots of jobs that have no record of theirs: those of the nearest repository, as it was when they began. */
export function nearestRoots(workspace: string): string[] {
  return rootsOf(workspace, findNearestGit(workspace));
}

function rootsOf(workspace: string, git: GitPlaces | null): string[] {
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
