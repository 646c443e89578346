import type { Change } from "../../domain/jobs/result.ts";
import { findInGitIndex, readGitIndex } from "../../domain/platform/git-index.ts";
import { lastPathName } from "../../domain/platform/ignore-rules.ts";
import {
  type GitSetting,
  isHarmlessSetting,
  mayMatterToGit,
  revertSettings,
} from "../../domain/policy/git-files.ts";
import {
  createToolsWork,
  holdsGitName,
  inDependencyFolder,
  isGitName,
  type Protection,
} from "../../domain/policy/protection.ts";
import type { BeforeAndAfter, Transaction } from "../ports/jobs-transaction.ts";
import type { Repository } from "../ports/platform-view.ts";
import { HOME_DENIAL } from "./edit-policy.ts";

type GitDirectories = ReturnType<typeof createGitDirectories>;

function createGitDirectories(sides: BeforeAndAfter) {
  const known = new Map<string, boolean>();
  /** Whether git takes a folder ("" is the workspace) for a git directory: it has a HEAD, and objects and refs of its own or elsewhere. */
  function is(folder: string, when: "before" | "after"): boolean {
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
    /** The folders above a path that are git directories, before or after the job, or are named like one; outermost first. */
    above(path: string): readonly string[] {
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

/** Why a change may not stay; `without` is the file without the forbidden part, if the rest may stay. */
interface GitFinding {
  readonly why: string;
  readonly without?: Uint8Array;
}

/** Finds changes to git directories, known by their content, that would run programs when the user calls git. Deletions are not checked. */
function createGitGuard(sides: BeforeAndAfter, secrets: readonly string[] = []) {
  const directories = createGitDirectories(sides);
  return {
    /** Whether a path is in a folder that has the name of git's own. */
    isInside: (path: string) => holdsGitName(path.slice(0, Math.max(0, path.lastIndexOf("/")))),
    forbids(change: Change): GitFinding | null {
      const { path, kind } = change;
      if (kind === "deleted") return null;
      if (holdsGitName(lastPathName(path))) return entryFinding(sides, change);
      if (!mayMatterToGit(path)) return null;
      for (const directory of directories.above(path)) {
        const inside = directory === "" ? path : path.slice(directory.length + 1);
        const found =
          findingIn(sides, directories, { path, directory, inside }) ??
          indexFinding(sides, { path, directory, inside }, secrets);
        if (found !== null) return found;
      }
      return null;
    },
  };
}

/** The new files that a job would not be allowed to leave: the rule for files that enter a folder without a job. */
export function judgeNewGitFiles(sides: BeforeAndAfter, paths: readonly string[]): string[] {
  const git = createGitGuard(sides);
  return paths.filter((path) => git.forbids({ path, kind: "added" }) !== null);
}

interface GitPath {
  readonly path: string;
  readonly directory: string;
  readonly inside: string;
}

/** Far more than git, or a person, writes into a file of settings, of steps or of one line. */
const LARGEST_JUDGED = 1024 ** 2;

/** A file is read to be judged; one of any size could keep the judge busy, or break it. */
function isTooLarge(sides: BeforeAndAfter, path: string): boolean {
  const found = sides.look(path, "after");
  return found?.kind === "file" && found.size > LARGEST_JUDGED;
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
  if (JUDGED_BY_CONTENT.has(top) && isTooLarge(sides, path))
    return { why: `a file of git is too large to be judged: ${path}` };
  switch (top) {
    case "hooks":
      if (isFolder() || isIdleSample(sides, path)) return null;
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
      if ((isWorktrees && leads === "../..") || leads === latin1Text(boundedOriginal(sides, path)).trim())
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

/** A file that git tracks is no secret, so a job that may not read a file may not have git track it for the next job. */
function indexFinding(
  sides: BeforeAndAfter,
  { path, inside }: GitPath,
  secrets: readonly string[],
): GitFinding | null {
  if (secrets.length === 0 || !/^(?:index|sharedindex\.[0-9a-f]+)$/i.test(inside)) return null;
  const [before, after] = [sides.original(path), sides.current(path)];
  const isFile = sides.look(path, "after")?.kind === "file";
  const lists = (bytes: Uint8Array | null, name: string) =>
    bytes === null ? null : findInGitIndex(bytes, Buffer.from(name), { whole: true });
  for (const secret of secrets)
    for (const name of endsOf(secret)) {
      const now = isFile ? lists(after, name) : false;
      // A list that only git can read, and that git alone could read before, is git's own way of writing.
      const was = before === null ? false : lists(before, name);
      if (now === true ? was !== true : now === null && was !== null)
        return {
          why: `a secret file that this job may not read cannot be tracked by it: ${secret} (${path})`,
        };
    }
  return null;
}

/** `a/b/c` → `a/b/c`, `b/c`, `c`: a path as repositories that hold it may list it. */
function endsOf(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "..");
  return parts.map((_, at) => parts.slice(at).join("/"));
}

/** A virtual environment holds no secrets, so a job may not make one of a folder with files that it may not read. */
function environmentFinding(path: string, secrets: readonly string[]): string | null {
  if (lastPathName(path) !== "pyvenv.cfg") return null;
  const folder = path.slice(0, -"pyvenv.cfg".length);
  const secret = secrets.find((one) => one.startsWith(folder));
  return secret === undefined
    ? null
    : `a folder with a secret file that this job may not read cannot be made a virtual environment: ${path}`;
}

const JUDGED_BY_CONTENT: ReadonlySet<string> = new Set(
  "rebase-merge sequencer commondir config config.worktree".split(" "),
);

/** A sample of a hook runs only where a hook is a link, which may lead to it. */
function isIdleSample(sides: BeforeAndAfter, path: string): boolean {
  if (!path.endsWith(".sample")) return false;
  if (sides.look(path, "before")?.kind === "file" && saysTheSame(sides, path)) return true;
  const folder = path.slice(0, path.lastIndexOf("/"));
  return !GIT_HOOKS.some((name) => sides.look(`${folder}/${name}`, "after")?.kind === "symlink");
}

/** Every name that git looks for in a folder of hooks. */
const GIT_HOOKS = `
  applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
  post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive
  post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate
  fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change`
  .trim()
  .split(/\s+/);

/** `.git` itself: a folder may come, a file may lead to where git keeps submodules and worktrees. */
function entryFinding(sides: BeforeAndAfter, { path, kind }: Change): GitFinding | null {
  const was = sides.look(path, "before");
  const isFolder = sides.look(path, "after")?.kind === "directory";
  if (isFolder && (was === null || was.kind === "directory")) return null;
  const pointer = isTooLarge(sides, path) ? null : sides.current(path);
  const isOrdinary = pointer !== null && ORDINARY_POINTER.test(latin1Text(pointer));
  if (kind === "added" && isOrdinary) return null;
  return { why: `a git directory cannot be replaced by a job: ${path}` };
}

/** Where git itself puts the directories of submodules and worktrees. */
const ORDINARY_POINTER = /^gitdir: [^\n]*\.git\/(modules|worktrees)\/[^\n]+\n?$/;

/** A folder that becomes a git directory contains earlier files, which were never judged as git files. */
function isBornBad(sides: BeforeAndAfter, directories: GitDirectories, directory: string): boolean {
  if (directories.is(directory, "before") || !directories.is(directory, "after")) return false;
  const at = (name: string) => (directory === "" ? name : `${directory}/${name}`);
  if (sides.look(at("hooks"), "before") !== null) return true;
  return ["config", "config.worktree"].some((name) => {
    const path = at(name);
    const current = sides.look(path, "before");
    if (current === null) return false;
    const settings = current.size > LARGEST_JUDGED ? null : sides.original(path);
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
  const read = directories.is(directory, "before") ? boundedOriginal(sides, path) : null;
  const allowed = (setting: GitSetting) => isHarmlessSetting(setting) || isSubmodulesPlace(path, setting);
  const taken = revertSettings(latin1Text(read), latin1Text(bytes), allowed);
  if (taken === null) return null;
  const names = Buffer.from(taken.names.join(", "), "latin1").toString();
  const why = `git settings that are not known to be harmless cannot be set by a job: ${names} (${path})`;
  if (taken.text === null || (read !== null && taken.text === latin1Text(read))) return { why };
  return { why, without: Buffer.from(taken.text, "latin1") };
}

/** The directory of a submodule says where its files are: as many steps up as its own name has, and down again. */
function isSubmodulesPlace(path: string, { name, value }: GitSetting): boolean {
  const module = /(?:^|\/)\.git\/modules\/(.+)\/config$/.exec(path)?.[1];
  if (module === undefined || name !== "core.worktree") return false;
  const up = "../".repeat(module.split("/").length + 2);
  return value.startsWith(up) && !value.slice(up.length).split("/").includes("..");
}

/** The remaining steps of a rebase may name commands, which the user's `git rebase --continue` would run. */
function todoFinding(sides: BeforeAndAfter, path: string): GitFinding | null {
  const bytes = sides.current(path);
  if (bytes === null) return null;
  const known = new Set(latin1Text(boundedOriginal(sides, path)).split("\n"));
  const lines = latin1Text(bytes).split("\n");
  const kept = lines.filter((line) => known.has(line) || !/^[ \t]*(exec|x)([ \t]|$)/.test(line));
  if (kept.length === lines.length) return null;
  const why = `commands cannot be left to a rebase by a job: ${path}`;
  return { why, without: Buffer.from(kept.join("\n"), "latin1") };
}

/** Settings of the user that are too large to be compared count as empty: the job's version is then judged as a whole. */
function boundedOriginal(sides: BeforeAndAfter, path: string): Uint8Array | null {
  return (sides.look(path, "before")?.size ?? 0) > LARGEST_JUDGED ? null : sides.original(path);
}

/** One character a byte, so that a text can be cut and written back as it was. */
function latin1Text(bytes: Uint8Array | null): string {
  return bytes === null ? "" : Buffer.from(bytes).toString("latin1");
}

/**
 * Whether git itself wrote a change (a checkout, a reset): only objects that git had at that path before the job count, because a job
 * can add, pack, commit and pull any content. A deletion counts if the commit checked out before had the file and the present one has not.
 */
function createKnownToGit(
  sides: BeforeAndAfter,
  sha1: (bytes: Uint8Array) => string,
): (change: Change) => boolean {
  let repository: Repository | null | undefined;
  let now: ReadonlyMap<string, string> | null = null;
  return ({ path, kind }) => {
    if (repository === undefined) ({ repository } = sides);
    if (repository === null) return false;
    const { history, workspaceAt, index } = repository;
    const inside = below(workspaceAt, path);
    if (inside === null) return false;
    now ??= objectsByPath(sides.current(index));
    if (kind === "deleted") {
      if (now.has(inside) || !objectsByPath(sides.original(index)).has(inside)) return false;
      const head = headOf(sides, repository);
      const hasBlob = !["nothing", "unknown"].includes(history.at("HEAD", inside));
      return head !== null && hasBlob && history.at(head, inside) === "nothing";
    }
    const object = now.get(inside);
    const bytes = sides.current(path);
    if (
      object === undefined ||
      bytes === null ||
      sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes])) !== object
    )
      return false;
    return history.had(inside, object);
  };
}

/** The commit that is checked out now; null if it is unknown. */
function headOf(sides: BeforeAndAfter, { index, objects }: Repository): string | null {
  const gitDirectory = index.slice(0, -"index".length);
  const common = objects.slice(0, -"objects".length);
  const read = (path: string) => new TextDecoder().decode(sides.current(path) ?? new Uint8Array());
  const head = read(`${gitDirectory}HEAD`).trim();
  const ref = /^ref: (refs\/[^\s]+)$/.exec(head)?.[1];
  const loose = ref === undefined ? head : read(`${common}${ref}`).trim();
  if (COMMIT.test(loose)) return loose;
  const packed = read(`${common}packed-refs`).split("\n");
  return packed.find((line) => line.slice(41) === ref)?.slice(0, 40) ?? null;
}

const COMMIT = /^[0-9a-f]{40}$/;

/** `packages/api` and `../web/a.ts` → `packages/web/a.ts`; null above the top. */
function below(folder: string, path: string): string | null {
  const parts = folder === "" ? [] : folder.split("/");
  for (const part of path.split("/")) {
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join("/");
}

function objectsByPath(index: Uint8Array | null): ReadonlyMap<string, string> {
  const entries = index === null ? null : readGitIndex(index);
  return new Map((entries ?? []).map(({ path, object }) => [path, object]));
}

/** A change that may not stay, and why. Protected files follow the configured action, the rest always fails. */
export interface RestoredChange {
  readonly path: string;
  readonly why: string;
  readonly rule: "protected" | "git" | "picoclaw";
}

export interface ValidateChangesDeps {
  readonly sides: BeforeAndAfter;
  readonly protection: Protection;
  /** The files that the job may not read. */
  readonly secrets: readonly string[];
  readonly sha1: (bytes: Uint8Array) => string;
}

/** The one rule for changes that processes of a job may not leave, used after each command and at the end. */
export function validateChanges(
  { sides, protection, secrets, sha1 }: ValidateChangesDeps,
  changes: readonly Change[],
) {
  const restored: RestoredChange[] = [];
  /** Those of `restored` of which only a part may not stay: the file's bytes without it. */
  const rewrite = new Map<string, Uint8Array>();
  /** Protected files that were rewritten with the same contents. */
  const same: string[] = [];
  /** New files that match a protected pattern: reported, not touched. */
  const created: string[] = [];
  /** Protected files that changed under `action_on_protected_file: log`. */
  const logged: string[] = [];
  /** Files that programs keep in a home which is in the workspace: they stay as they were, and nothing fails over them. */
  const leftOut: string[] = [];
  const isKnownToGit = createKnownToGit(sides, sha1);
  const isToolsWork = createToolsWork(
    changes.map(({ path }) => path),
    (folder) => sides.look(folder, "after") === null,
  );
  const git = createGitGuard(sides, secrets);
  for (const change of changes) {
    const { path, kind } = change;
    const made = kind === "added" ? environmentFinding(path, secrets) : null;
    if (made !== null) {
      restored.push({ path, why: made, rule: "git" });
      continue;
    }
    const found = git.forbids(change);
    if (found !== null) {
      restored.push({ path, why: found.why, rule: "git" });
      if (found.without !== undefined) rewrite.set(path, found.without);
      continue;
    }
    const home = protection.ofHome(path);
    // A cache may be emptied.
    if (home !== null && (home !== "cache" || change.kind !== "deleted")) {
      if (protection.action === "log") logged.push(path);
      else if (home === "obeyed" || kind === "deleted")
        restored.push({ path, why: `${HOME_DENIAL}: ${path}`, rule: "protected" });
      else leftOut.push(path);
      continue;
    }
    if (git.isInside(path)) continue;
    if (protection.forbids(path) === "picoclaw") {
      restored.push({ path, why: `PicoClaw's own files cannot be modified: ${path}`, rule: "picoclaw" });
      continue;
    }
    if (protection.protects(path) === null) continue;
    if (inDependencyFolder(path) && (kind === "added" || isToolsWork(path))) continue;
    if (kind === "modified" && saysTheSame(sides, path)) same.push(path);
    else if (protection.action === "log") logged.push(path);
    else if (kind === "added") created.push(path);
    else if (!isKnownToGit(change))
      restored.push({ path, why: `protected file cannot be modified: ${path}`, rule: "protected" });
  }
  return { restored, rewrite, same, created, logged, leftOut };
}

function saysTheSame(sides: BeforeAndAfter, path: string): boolean {
  const [before, after] = [sides.look(path, "before"), sides.look(path, "after")];
  if (before?.kind !== "file" || after?.kind !== "file" || before.mode !== after.mode) return false;
  if (before.size !== after.size) return false;
  const [was, is] = [sides.original(path), sides.current(path)];
  return was !== null && is !== null && Buffer.from(was).equals(is);
}

export interface GuardDeps {
  readonly transaction: Transaction;
  readonly protection: Protection;
  readonly sha1: (bytes: Uint8Array) => string;
}

/** Restores what a process may not change, so that no command builds on it; `final-validation.ts` decides. Returns the other changes. */
export function guardChanges({ transaction, protection, sha1 }: GuardDeps, changes: readonly Change[]) {
  const { restored, rewrite, created, logged, leftOut } = validateChanges(
    { sides: transaction, protection, secrets: transaction.secretFiles?.() ?? [], sha1 },
    changes,
  );
  const back = new Set([
    ...restored.map(({ path }) => path).filter((path) => !rewrite.has(path)),
    ...leftOut,
  ]);
  transaction.revert([...back]);
  for (const [path, bytes] of rewrite) transaction.rewrite(path, bytes);
  return { changes: changes.filter(({ path }) => !back.has(path)), restored, created, logged, leftOut };
}
