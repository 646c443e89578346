import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { foldersAbove, isInside } from "../../domain/platform/paths.ts";
import { Identity, identifyAt } from "../platform/entry-identity.ts";
import { lstatEntry } from "../platform/entry-stats.ts";
import { findGit } from "../platform/git-roots.ts";
import { mountPoints } from "../platform/mount-points.ts";
import { inParent } from "../platform/open-folder.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { makeParents, walkFolder } from "../platform/walk-folder.ts";
import { adoptFolder } from "./hidden-files.ts";

export type Manifest = ReturnType<typeof takeManifest>;

/** The content of a root at begin. */
export function takeManifest(root: string, ownFolders: readonly string[]) {
  const entries = new Map<string, Identity>();
  /** Paths that could not be looked into (permissions, another file system); a job neither sees nor changes them. */
  const hidden = new Set<string>();
  let bytes = 0;
  /** The ctime of the root itself. */
  const top = lstatEntry(root)?.ctime ?? "";
  const enter = (path: string) => !ownFolders.includes(join(root, path));
  /** Whether there are names that are no UTF-8. */
  let hasBytes = false;
  const unreadable = (path: string) => void hidden.add(path);
  for (const { path, stats, noText } of walkFolder(root, { enter, unreadable, noText: true })) {
    if (stats.isFile()) bytes += stats.blocks * 512;
    if (noText) {
      hasBytes = true;
      continue;
    }
    entries.set(path, Identity.of(stats));
  }
  /** Other mounts below the root, also of its own file system: a copy can stand for them, and no commit reaches them. */
  const mounts = new Set(
    mountPoints().flatMap((point) => (point.startsWith(`${root}/`) ? [point.slice(root.length + 1)] : [])),
  );
  return { entries, hidden, mounts, bytes, top, hasBytes };
}

/** Whether nothing of a path can be committed: it is on another mount, or the job did not see it. */
export function isApart({ hidden, mounts }: Pick<Manifest, "hidden" | "mounts">, path: string): boolean {
  return isHidden(hidden, path) || isHidden(mounts, path);
}

export function isHidden(hidden: ReadonlySet<string>, path: string): boolean {
  if (hidden.size === 0) return false;
  return hidden.has(path) || foldersAbove(path).some((folder) => hidden.has(folder));
}

/** `cp` keeps modes, times, links, attributes and holes, and stays on one file system. */
const COPY =
  process.platform === "linux"
    ? {
        whole: ["cp", "-a", "-x", "-T", "--reflink=auto", "--"],
        into: 'cp -a -x --reflink=auto -- "$@" "$0"/',
      }
    : { whole: ["cp", "-cpRP", "--"], into: 'cp -cpRP -- "$@" "$0"/' };

/** Copies a folder to a free name, without PicoClaw's own folders. Names are passed as bytes. Returns the complaints of `cp`. */
export function copyFolder(from: string, to: string, ownFolders: readonly string[]): string[] {
  const names = new Set(
    ownFolders
      .filter((own) => own.startsWith(`${from}/`) && existsSync(own))
      .map((own) => own.slice(from.length + 1).split("/")[0] as string),
  );
  if (names.size === 0) return runCopyProgram([...COPY.whole, from, to], "/");
  mkdirSync(to, { mode: 0o700 });
  const leftOut = [...names].flatMap((name) => ["!", "-name", escapeGlob(name)]);
  const complaints = runCopyProgram(
    [
      ..."find . -mindepth 1 -maxdepth 1".split(" "),
      ...leftOut,
      "-exec",
      "sh",
      "-c",
      COPY.into,
      to,
      "{}",
      "+",
    ],
    from,
  );
  for (const name of names) {
    const inside = join(from, name);
    if (!ownFolders.includes(inside)) complaints.push(...copyFolder(inside, join(to, name), ownFolders));
  }
  adoptFolder(from, to);
  return complaints;
}

function runCopyProgram(command: readonly string[], cwd: string): string[] {
  const ran = spawnSync("env", ["LC_ALL=C", ...command], { cwd, encoding: "utf8", maxBuffer: 16 << 20 });
  if (ran.error) return [ran.error.message];
  if (ran.status === 0) return [];
  const complaints = ran.stderr.split("\n").filter((line) => line !== "");
  return complaints.length === 0 ? [`${command[0]} ended with ${ran.status}`] : complaints;
}

function escapeGlob(name: string): string {
  return name.replace(/[[\]*?\\]/g, "\\$&");
}

export interface CopiedRoot {
  readonly original: string;
  readonly copy: string;
}

export type CopyResult =
  | { readonly ok: true; readonly copies: readonly CopiedRoot[] }
  | { readonly ok: false; readonly code: "no-space" | "failed"; readonly message: string };

export interface CopyRequest {
  readonly roots: readonly string[];
  /** The content of each root just before; entries that could not be copied become hidden in it. */
  readonly manifests: readonly Manifest[];
  readonly into: string;
  readonly ownFolders: readonly string[];
}

/** Copies each root. Files that the user may not read, or made during the copy, are hidden from the job. */
export function copyRoots({ roots, manifests, into, ownFolders }: CopyRequest): CopyResult {
  const copies = roots.map((original, i) => ({
    original,
    copy: join(into, String(i), basename(original) || "root"),
  }));
  for (const [i, root] of copies.entries()) {
    const manifest = manifests[i] as Manifest;
    mkdirSync(dirname(root.copy), { recursive: true, mode: 0o700 });
    const complaints = copyFolder(root.original, root.copy, ownFolders);
    const fatal = complaints.find((line) => !isHarmless(line));
    if (fatal !== undefined)
      return { ok: false, code: /No space left|quota/.test(fatal) ? "no-space" : "failed", message: fatal };
    if (complaints.length > 0) hideMissing(root, manifest);
    dropNewcomers(root, manifest);
  }
  return { ok: true, copies };
}

/** Takes files out of the copies, where a job then neither sees nor changes them. No link among the folders is followed. */
export function leaveOut(
  copies: readonly CopiedRoot[],
  absolute: readonly string[],
  manifests: readonly Manifest[] = [],
): void {
  copies.forEach(({ original, copy }, i) => {
    for (const path of absolute) {
      if (path === original || !isInside(original, path)) continue;
      const below = path.slice(original.length + 1);
      attemptOr(undefined, () => inParent(copy, below, (folder, name) => removeTree(`${folder}/${name}`)));
      manifests[i]?.hidden.add(below);
    }
  });
}

/** Files that PicoClaw may not read, that this user cannot make, or that were removed meanwhile. */
function isHarmless(complaint: string): boolean {
  return /Permission denied|Operation not permitted|No such file or directory|Invalid argument: .*socket/.test(
    complaint,
  );
}

function hideMissing({ copy }: CopiedRoot, { entries, hidden }: Manifest): void {
  for (const path of entries.keys()) if (identifyAt(join(copy, path)) === null) hidden.add(path);
}

/** Folders that changed since the manifest may have given the copy names that the manifest does not know. */
function dropNewcomers({ original, copy }: CopiedRoot, { entries, top }: Manifest): void {
  const check = (path: string, ctime: string) => {
    const now = identifyAt(join(original, path));
    if (now === null || now.ctime === ctime || identifyAt(join(copy, path))?.kind !== "directory") return;
    for (const name of readdirSync(join(copy, path))) {
      const below = path === "" ? name : `${path}/${name}`;
      if (!entries.has(below)) removeTree(join(copy, below));
    }
  };
  check("", top);
  for (const [path, { kind, ctime }] of entries) if (kind === "directory") check(path, ctime);
}

/** Replaces the copy's entry by that of the workspace, outside of the sandbox: links that commands left in the copy are not followed. */
export function restoreEntry({ original, copy }: CopiedRoot, path: string, from: string): void {
  const exists = identifyAt(from) !== null;
  if (exists) makeParents(copy, path, (parent) => lstatSync(join(original, parent)).mode & 0o7777);
  else if (lstatInside(copy, path) === null) return;
  inParent(copy, path, (folder, name) => {
    removeTree(`${folder}/${name}`);
    if (!exists) return;
    copyEntry(from, `${folder}/${name}`);
  });
}

/** One entry with everything that belongs to it. A folder may be named through a descriptor of this process. */
export function copyEntry(from: string, to: string): void {
  const options = process.platform === "linux" ? ["-a", "-T", "--reflink=auto"] : ["-cpRP"];
  const named = [from, to].map((path) => path.replace("/proc/self/", `/proc/${process.pid}/`));
  spawnSync("cp", [...options, "--", ...named]);
}

/** Null where a parent is missing or no folder. */
function lstatInside(root: string, path: string) {
  return attemptOr(null, () => inParent(root, path, (folder, name) => lstatSync(`${folder}/${name}`)));
}

/** In place of a folder's ctime: its entries show what happens in it. */
export const FOLDER = -1n;

/** Copies as of one look: `<root>:<path>` → ctime. */
export type CopyLook = Map<string, bigint>;

/** A folder that the job made unreadable counts as unchanged. */
export function lookAtCopies(copies: readonly CopiedRoot[], before: ReadonlyMap<string, bigint>): CopyLook {
  const now: CopyLook = new Map();
  const shut: string[] = [];
  copies.forEach(({ copy }, i) => {
    const unreadable = (path: string) => void shut.push(`${i}:${path}/`);
    for (const { path, stats } of walkFolder(copy, { unreadable }))
      now.set(`${i}:${path}`, stats.isDirectory() ? FOLDER : stats.ctimeNs);
  });
  for (const [key, ctime] of shut.length === 0 ? [] : before)
    if (shut.some((prefix) => key.startsWith(prefix))) now.set(key, ctime);
  return now;
}

/** A file of the copy in which a path was replaced during the job: its text there, and its text before. */
export interface Pointer {
  readonly file: string;
  readonly inCopy: string;
  readonly asWritten: string;
}

/** Git's pointers between worktree, submodule and repository must name the copies, or a job's git would work on the real repository. */
export function repointGit(workspace: string, copies: readonly CopiedRoot[]): Pointer[] {
  const git = findGit(workspace);
  if (git === null) return [];
  const top = copies[0] as CopiedRoot;
  const common = copies.find((root) => isInside(root.original, git.commonDirectory));
  if (common === undefined || isInside(top.original, git.commonDirectory)) return [];
  const gitCopy = join(common.copy, git.gitDirectory.slice(common.original.length));
  return [
    repoint(join(top.copy, ".git"), /^(gitdir: )(.*)$/m, gitCopy),
    repoint(join(gitCopy, "gitdir"), /^()(.*)$/m, join(top.copy, ".git")),
    repoint(join(gitCopy, "config"), /^(\s*worktree\s*=\s*)(.*)$/m, top.copy),
  ].filter((pointer) => pointer !== null);
}

function repoint(file: string, place: RegExp, inCopy: string): Pointer | null {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) return null;
  const text = readFileSync(file, "utf8");
  const asWritten = place.exec(text)?.[2];
  if (asWritten === undefined) return null;
  writeFileSync(
    file,
    text.replace(place, (_, key: string) => `${key}${inCopy}`),
  );
  return { file, inCopy, asWritten };
}

/** Small texts in which git records the places of repositories. */
const NOTES_PATHS = new Set(".git gitdir config config.worktree commondir alternates FETCH_HEAD".split(" "));
const LARGEST_NOTE = 1 << 20;

export function notesPaths(path: string, size: number): boolean {
  return (
    NOTES_PATHS.has(basename(path)) &&
    size <= LARGEST_NOTE &&
    /(^|\/)\.git(\/|$)|^[^/]+$|worktrees|modules/.test(path)
  );
}

/** Makes a file of the copy say the real places again. */
export function restorePaths(
  file: string,
  pointers: readonly Pointer[],
  copies: readonly CopiedRoot[],
): void {
  const before = readFileSync(file, "latin1");
  let text = before;
  const say = (from: string, to: string) => {
    text = text.replaceAll(Buffer.from(from).toString("latin1"), Buffer.from(to).toString("latin1"));
  };
  for (const pointer of pointers) if (pointer.file === file) say(pointer.inCopy, pointer.asWritten);
  for (const { copy, original } of copies) say(copy, original);
  if (text !== before) writeFileSync(file, text, "latin1");
}
