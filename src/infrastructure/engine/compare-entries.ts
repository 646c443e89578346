import { readlinkSync } from "node:fs";
import { type SealNote, sealNote } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { listGitIndex } from "../../domain/platform/git-index.ts";
import type { Op } from "../jobs/job-folder.ts";
import {
  type Identity,
  identify,
  identifyAt,
  identifySettled,
  sameUntouched,
} from "../platform/entry-identity.ts";
import { type EntryStats, lstatEntry } from "../platform/entry-stats.ts";
import { hashHex } from "../platform/hash.ts";
import { inParent } from "../platform/open-folder.ts";
import { lookInto, readInto, readNoFollow } from "../platform/read-file.ts";
import { getXattr, listXattrs } from "../platform/xattr.ts";

/** Which rules a path follows. In a git directory that existed before, state is restored only if unchanged; added objects stay. */
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
  if (!path.includes(".git")) return null;
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

/** The entries of an index, without the stat cache that `git status` refreshes. */
function indexKey(bytes: Uint8Array): string | null {
  const listed = listGitIndex(bytes);
  return listed === null ? null : `index:${hashHex("sha256", listed)}`;
}

/** Larger files are compared by inode and times only. */
const HASH_LIMIT_BYTES = 4 * 1024 * 1024;

/** The hash of a file's bytes or a link's target; undefined where reading it would cost too much. */
export function hashAt(absolute: string, identity: Identity, isIndex: boolean): string | undefined {
  return attemptOr(undefined, () => {
    if (identity.kind === "symlink") return digest(readlinkSync(absolute));
    if (identity.kind !== "file" || identity.size > HASH_LIMIT_BYTES) return undefined;
    if (!isIndex && identity.size < USUAL.length) return digestSmall(absolute, identity.size);
    const bytes = readNoFollow(absolute);
    return (isIndex ? indexKey(bytes) : null) ?? digest(bytes);
  });
}

/** Most files of a project fit. The runtime's own way of reading takes a page of memory for each, however small it is. */
const USUAL = new Uint8Array(64 * 1024);

function digestSmall(absolute: string, size: number): string {
  const length = readInto(absolute, USUAL, 0, size);
  return digest(length < USUAL.length ? USUAL.subarray(0, length) : readNoFollow(absolute));
}

/** A file as one opening shows it. Null for a file above the size limit and for anything else that has no bytes to read. */
export function readEntry(absolute: string, size: number, keepsBytes = false) {
  const look = size < USUAL.length ? lookInto(absolute, USUAL) : null;
  if (look === null) return null;
  const bytes = USUAL.subarray(0, look.length);
  return {
    /** Taken after its bytes were read. */
    stats: look.stats,
    hash: digest(bytes),
    /** Those that `isVisiblySame` compares; null if they cannot be read. */
    attributes: look.attributes && ownAttributes(look.attributes),
    /** It has no attributes at all, not even those of an overlay. */
    isBare: look.attributes?.length === 0,
    bytes: keepsBytes ? bytes.slice() : undefined,
  };
}

/** The hash of the entry at a path; undefined if it was touched since `then`, so that a later save never counts as the original. */
export function hashIfUntouched(
  root: string,
  path: string,
  then: Identity,
  isIndex: boolean,
): string | undefined {
  return attemptOr(undefined, () =>
    inParent(root, path, (parent, name) => {
      const absolute = `${parent}/${name}`;
      const hash = hashAt(absolute, then, isIndex);
      return sameUntouched(identifyAt(absolute), then) ? hash : undefined;
    }),
  );
}

function digest(content: Uint8Array | string): string {
  return hashHex("sha256", content);
}

/** The identity of the entry at a path, if it is a file with these bytes. */
export function readSettled(root: string, path: string, bytes: Uint8Array): Identity | null {
  const found = identifySettled(root, path);
  if (found?.kind !== "file") return null;
  const now = inParent(root, path, (folder, name) => readNoFollow(`${folder}/${name}`));
  return Buffer.compare(now, bytes) === 0 && sameUntouched(identify(root, path), found) ? found : null;
}

export interface EntryPair {
  readonly a: Identity;
  readonly b: Identity;
  readonly aHash: string | undefined;
  readonly bHash: string | undefined;
  readonly isIndex: boolean;
  /** The current locations of the two. */
  readonly from: string;
  readonly to: string;
  /** The attributes of each, where they are known already. */
  readonly fromAttributes?: readonly string[] | null;
  readonly toAttributes?: readonly string[] | null;
  /** How many names the file at `from` has, where that is known. */
  readonly names?: number | undefined;
}

/** Whether no visible property differs. Of files too large to read, the change time is compared instead of the bytes. */
export function isVisiblySame(compared: EntryPair): boolean {
  return compared.a.mode === compared.b.mode && isSameButForMode(compared);
}

function isSameButForMode(compared: EntryPair): boolean {
  const { a, b, aHash, bHash, isIndex, from, to } = compared;
  if (a.kind !== b.kind || !sameOwner(a, b)) return false;
  if (isIndex) return aHash !== undefined && aHash === bHash;
  if (a.kind === "symlink") return readlinkSync(to) === readlinkSync(from);
  if (a.kind === "other") return true;
  if (a.size !== b.size || (aHash !== undefined && aHash !== bHash) || !haveSameAttributes(compared))
    return false;
  return aHash !== undefined || a.isWrittenWith(b);
}

/** Whether the two differ in nothing but their mode, and the file has no other name that a change would reach. */
export function onlyModeDiffers(compared: EntryPair): boolean {
  const { a, b, from, names } = compared;
  if (a.kind !== "file" || a.mode === b.mode || compared.aHash === undefined) return false;
  if (!isSameButForMode(compared)) return false;
  return (names ?? lstatEntry(from)?.nlink) === 1;
}

/** Asked once: the answer stays, and every entry of a large job needs it. */
const IS_ROOT = process.getuid?.() === 0;

/** Only root can give files away; for others a copy may have got another owner by itself. */
function sameOwner(a: Identity, b: Identity): boolean {
  return !IS_ROOT || (a.uid === b.uid && a.gid === b.gid);
}

function haveSameAttributes({ from, to, fromAttributes, toAttributes }: EntryPair): boolean {
  // Without any on both sides there is nothing to read.
  return (fromAttributes?.length === 0 && toAttributes?.length === 0) || sameAttributes(from, to);
}

function sameAttributes(from: string, to: string): boolean {
  const [before, after] = [attributeNames(from), attributeNames(to)];
  if (before.length !== after.length) return false;
  return before.every((name) => {
    const [was, is] = [getXattr(from, name), getXattr(to, name)];
    return was.ok && is.ok && Buffer.from(was.value).equals(is.value);
  });
}

/** The user's attributes and access lists; an overlay's own attributes are left out. */
function attributeNames(path: string): readonly string[] {
  const names = listXattrs(path);
  return names.ok ? ownAttributes(names.value) : [];
}

const NONE: readonly string[] = [];

function ownAttributes(names: readonly string[]): readonly string[] {
  const own = names.filter(
    (name) =>
      (name.startsWith("user.") && !name.startsWith("user.overlay.")) || name.startsWith("system.posix_acl_"),
  );
  return own.length === 0 ? NONE : own;
}

interface KeptFolder {
  readonly path: string;
  readonly a: Identity | null;
  readonly stats: EntryStats;
  /** Its locations in the workspace and in the view. */
  readonly from: string;
  readonly to: string;
  /** Whether a change of its owner is applied. */
  readonly carriesOwner?: boolean;
}

/** A folder that existed before keeps its identity and gets only its new mode; other changes to it are reported. */
export function keptFolder({ path, a, stats, from, to, carriesOwner = false }: KeptFolder): SealNote[] {
  if (a?.kind !== "directory" || !stats.isDirectory()) return [];
  const notes: SealNote[] = [];
  // Only root gives folders away on purpose.
  const isGiven = !carriesOwner && process.getuid?.() === 0;
  if (isGiven && (stats.uid !== a.uid || stats.gid !== a.gid)) notes.push(sealNote("folder-owner", path));
  if (!sameAttributes(from, to)) notes.push(sealNote("folder-attributes", path));
  return notes;
}

/** The root is not an entry of the workspace: a mode that the job gave it is reported but not applied. */
export function keptRoot(original: string, view: string): SealNote[] {
  const [was, is] = [original, view].map((path) => lstatEntry(path)?.permissions);
  return was === is ? [] : [sealNote("root-mode", ".")];
}

/** A change of times alone is not applied; a job that changed nothing else gets a note. */
export function keptTimes(ops: readonly Op[], touched: readonly string[]): SealNote[] {
  return ops.length > 0 || touched.length === 0 ? [] : [sealNote("times", ...touched)];
}
