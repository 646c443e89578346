import {
  chmodSync,
  closeSync,
  fsync,
  fsyncSync,
  futimesSync,
  lstatSync,
  openSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type {
  Difference,
  DifferenceVerdict,
  SealedChanges,
  ValidateDifference,
} from "../../application/ports/jobs-transaction.ts";
import { type SealNote, sealNote } from "../../domain/jobs/result.ts";
import { attemptSystem } from "../../domain/platform/error-text.ts";
import { foldersAbove, isInside } from "../../domain/platform/paths.ts";
import { type JobFolder, type Op, opKind, opSlotPath } from "../jobs/job-folder.ts";
import {
  type Identity,
  identify,
  identifyAt,
  ifThere,
  sameUntouched,
  shownBelow,
} from "../platform/entry-identity.ts";
import { toEntryState } from "../platform/folder-view.ts";
import { repositoryOf } from "../platform/git-roots.ts";
import { syncfs } from "../platform/libc.ts";
import { inFolder, inParent } from "../platform/open-folder.ts";
import { LARGEST_JUDGED, readNoFollow } from "../platform/read-file.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { createSweep, flushFileSystem } from "../platform/unattended.ts";
import { getXattr, removeXattr } from "../platform/xattr.ts";
import { areaOf, hashAt, isIndexFile } from "./compare-entries.ts";

export interface SealedRoot {
  readonly ops: readonly Op[];
  /** Touched paths whose names are not UTF-8, as people can read them: no op can express them. */
  readonly noText: readonly string[];
  /** The entries that no plan can commit. */
  readonly notes: readonly SealNote[];
  /** Paths that are too long to open. */
  readonly tooDeep: readonly string[];
  /** Where the only copies of what the job deletes are that no plan can commit; absent where it sees all. */
  readonly unseen?: readonly string[];
}

/** A sealed root, with the ops of which the seal saw more than it could settle by itself. */
export interface WholeSealedRoot extends SealedRoot {
  /** Those whose staged file has attributes, or may have some. */
  readonly attributed: readonly number[];
  /** Those whose original has another name, or may have one. */
  readonly linked: readonly number[];
}

export function gatherSealedRoots(workspace: string) {
  const ops: Op[] = [];
  const notes: SealNote[] = [];
  const noText: string[] = [];
  const tooDeep: string[] = [];
  const unseen: string[] = [];
  const attributed = new Set<number>();
  const linked = new Set<number>();
  return {
    ops,
    notes,
    attributed,
    linked,
    add(root: string, sealed: SealedRoot & Partial<WholeSealedRoot>): void {
      // A job has more ops than a call takes arguments.
      for (const op of sealed.ops) ops.push(op);
      for (const n of sealed.attributed ?? []) attributed.add(n);
      for (const n of sealed.linked ?? []) linked.add(n);
      notes.push(...sealed.notes);
      const shown = (path: string) => relative(workspace, join(root, path));
      noText.push(...sealed.noText.map(shown));
      unseen.push(...(sealed.unseen ?? []).map(shown));
      tooDeep.push(...sealed.tooDeep);
    },
    /** The answer if a plan cannot contain some paths of the job; null if it can contain all. */
    refusal(): SealedChanges | null {
      if (tooDeep.length > 0) return { changes: [], outside: [], notes: [], tooDeep };
      if (unseen.length > 0) return { changes: [], outside: [], notes: [], unseen };
      return noText.length > 0 ? { changes: [], outside: [], notes: [], noText } : null;
    },
  };
}

/** Whether an entry differs from the one that a draft found, whose hash is `hash`; folders are compared by kind only. */
export function hasMovedFrom(
  then: Identity | null,
  now: Identity | null,
  hash: string | undefined,
  hashNow: (now: Identity) => string | undefined,
): boolean {
  if (sameUntouched(then, now)) return false;
  if (then === null || now === null || then.kind !== now.kind) return true;
  if (now.kind === "directory") return false;
  return hash === undefined || now.mode !== then.mode || hashNow(now) !== hash;
}

export interface SealedOps {
  readonly folder: JobFolder;
  readonly workspace: string;
  /** Absolute; an op names its root by number. */
  readonly roots: readonly string[];
  readonly ops: readonly Op[];
  /** The ops whose staged file may have attributes. Default: any of them. */
  readonly attributed?: ReadonlySet<number>;
}

/** The difference that ops and their slots make: before is the workspace, after is the content of the slots. */
function sealedDifference({ folder, workspace, roots, ops }: SealedOps): Difference {
  const tops = roots.map((root) => ({ within: `${root}/`, ops: new Map<string, Op>() }));
  for (const op of ops) tops[op.root]?.ops.set(op.path, op);
  const opAt = (absolute: string): Op | undefined => {
    for (const { within, ops } of tops) {
      const op = absolute.startsWith(within) ? ops.get(absolute.slice(within.length)) : undefined;
      if (op !== undefined) return op;
    }
    return undefined;
  };
  // Checks ask several times for each of thousands of paths, none of which needs resolving.
  const absoluteOf = (path: string) =>
    NOT_PLAIN.test(path) ? resolve(workspace, path) : `${workspace}/${path}`;

  /** Root and path below it; of nested roots the innermost. */
  function place(path: string): { root: string; below: string } | null {
    const absolute = absoluteOf(path);
    const root = [...roots].reverse().find((one) => isInside(one, absolute));
    return root === undefined ? null : { root, below: relative(root, absolute) };
  }

  /** The op that decides the entry at a path afterwards: its own, or that of a folder which is new or gone. */
  function deciding(path: string): Op | null {
    const absolute = absoluteOf(path);
    const own = opAt(absolute);
    if (own !== undefined) return own;
    for (const folder of foldersAbove(absolute)) {
      const above = opAt(folder);
      if (above !== undefined && (above.a?.kind !== "directory" || above.b?.kind !== "directory"))
        return above;
    }
    return null;
  }

  function identityBefore(path: string): Identity | null {
    const own = opAt(absoluteOf(path));
    if (own !== undefined) return own.a;
    const at = place(path);
    return at === null || at.below === "" ? null : identify(at.root, at.below);
  }

  function identityAfter(path: string): Identity | null {
    const op = deciding(path);
    if (op === null) return identityBefore(path);
    return opAt(absoluteOf(path)) === op ? op.b : null;
  }

  function original(path: string): Uint8Array | null {
    const at = place(path);
    if (at === null || !isReadable(identityBefore(path))) return null;
    return attemptSystem(null, () =>
      inParent(at.root, at.below, (parent, name) => readNoFollow(`${parent}/${name}`)),
    );
  }

  const sweep = createSweep();
  return {
    changes: ops.map((op) => ({
      path: shownBelow(workspace, roots[op.root] as string, op.path),
      kind: opKind(op),
    })),
    look: (path, when) => {
      sweep();
      return toEntryState(when === "before" ? identityBefore(path) : identityAfter(path));
    },
    original,
    current(path) {
      const op = deciding(path);
      if (op === null || op.inPlace === true) return original(path);
      if (!isReadable(identityAfter(path))) return null;
      return attemptSystem(null, () => readNoFollow(opSlotPath(folder, op.n, "b")));
    },
    get repository() {
      return repositoryOf(workspace);
    },
    *below(path) {
      const at = place(path);
      if (at === null) return;
      for (const name of namesBelow(at.root, at.below)) yield `${path}/${name}`;
    },
  };
}

/** A path that has to be resolved: empty, absolute, or with a part that is empty or leads elsewhere. */
const NOT_PLAIN = /^$|^\/|\/$|\/\/|(^|\/)\.\.?(\/|$)/;

function* namesBelow(root: string, folder: string): Generator<string> {
  const pending = [""];
  while (pending.length > 0) {
    const at = pending.pop() as string;
    const entries = attemptSystem(null, () =>
      inFolder(root, at === "" ? folder : `${folder}/${at}`, (self) =>
        readdirSync(self, { withFileTypes: true }),
      ),
    );
    for (const entry of entries ?? []) {
      const name = at === "" ? entry.name : `${at}/${entry.name}`;
      yield name;
      if (entry.isDirectory()) pending.push(name);
    }
  }
}

function isReadable(identity: Identity | null): boolean {
  return identity?.kind === "file" && identity.size <= LARGEST_JUDGED;
}

/**
 * The last step of every seal: validates the content of the slots, removes entries that may not be committed, clears bits that grant
 * privileges. Only its result is ever committed. `turnedDown`: absolute paths that did not land as the job left them.
 */
export function validateOps(sealed: SealedOps, judge: ValidateDifference) {
  const sweep = createSweep();
  const powerful: string[] = [];
  const harmless = sealed.ops.flatMap((op) => {
    sweep();
    const without = withoutPower(sealed, op);
    if (without === op) return [op];
    powerful.push(op.path);
    return hasOnlyMode(without) ? [] : [without];
  });
  /** Entries that lost bits which grant privileges. */
  const notes = powerful.length === 0 ? [] : [sealNote("power", ...powerful)];
  const verdict = judge(sealedDifference({ ...sealed, ops: harmless }));
  if (verdict.drop.length === 0 && verdict.rewrite.size === 0)
    return { ops: harmless, turnedDown: [], notes };
  const absolute = (path: string) => resolve(sealed.workspace, path);
  const left = dropOps({ ...sealed, ops: harmless }, verdict.drop.map(absolute));
  const ops = left.flatMap((op) => rewriteOp(sealed, op, verdict.rewrite) ?? []);
  return { ops, turnedDown: [...verdict.drop, ...verdict.rewrite.keys()].map(absolute), notes };
}

/** A change that consisted only of these bits is dropped. */
function hasOnlyMode({ a, b, inPlace }: Op): boolean {
  const isKept = inPlace === true || (a?.kind === "directory" && b?.kind === "directory");
  return isKept && a?.mode === b?.mode;
}

/** Set-user-id and the like on a file, and set-user-id on a folder, unless it was so before. */
function withoutPower({ folder, roots, attributed }: SealedOps, op: Op): Op {
  const { a, b, n } = op;
  if (b === null || (b.kind !== "file" && b.kind !== "directory")) return op;
  const had = a?.kind === b.kind ? a.mode : 0;
  const extra = b.mode & (b.kind === "file" ? 0o7000 : 0o4000) & ~had;
  const staged = opSlotPath(folder, n, "b");
  const isKept = a?.kind === "directory" && b.kind === "directory";
  const mayBring = b.kind === "file" && op.inPlace !== true && attributed?.has(n) !== false;
  if (mayBring && process.getuid?.() === 0)
    takeCapability(staged, a === null ? null : join(roots[op.root] as string, op.path));
  if (extra === 0) return op;
  const mode = b.mode & ~extra;
  if (identifyAt(staged) !== null) chmodSync(staged, mode);
  return { ...op, b: isKept ? b.withMode(mode) : (identifyAt(staged) ?? b.withMode(mode)) };
}

const CAPABILITY = "security.capability";

/** A file with capabilities grants privileges as one with set-user-id does. */
function takeCapability(staged: string, original: string | null): void {
  const brings = getXattr(staged, CAPABILITY);
  if (!brings.ok) return;
  const had = original === null ? null : getXattr(original, CAPABILITY);
  if (had?.ok && Buffer.from(had.value).equals(brings.value)) return;
  removeXattr(staged, CAPABILITY);
}

function dropOps(sealed: SealedOps, paths: readonly string[]): Op[] {
  const { folder, roots } = sealed;
  const at = (op: Op) => join(roots[op.root] as string, op.path);
  const named = new Set(paths);
  const isDropped = (op: Op) => named.has(at(op)) || foldersAbove(at(op)).some((folder) => named.has(folder));
  const opened = new Set(
    sealed.ops.filter((op) => removesFolder(op) && paths.some((path) => path.startsWith(`${at(op)}/`))),
  );
  const kept = sealed.ops.filter((op) => !isDropped(op) && !opened.has(op));
  for (const op of sealed.ops) if (isDropped(op) || opened.has(op)) removeTree(opSlotPath(folder, op.n, "b"));
  const without = withoutEmptyParents(kept, sealed.ops.filter(isDropped), at, (op) =>
    removeTree(opSlotPath(folder, op.n, "b")),
  );
  const beside = {
    n: sealed.ops.reduce((most, { n }) => Math.max(most, n), -1) + 1,
    planned: new Set(sealed.ops.map(at)),
  };
  for (const op of opened) without.push(...goneBeside(sealed, op, paths, beside));
  return without;
}

function removesFolder({ a, b }: Op): boolean {
  return a?.kind === "directory" && b?.kind !== "directory";
}

/** Drops a folder that the job created only for entries that were dropped. */
function withoutEmptyParents(
  kept: readonly Op[],
  gone: readonly Op[],
  at: (op: Op) => string,
  drop: (op: Op) => void,
): Op[] {
  const left = new Map(kept.map((op) => [at(op), op]));
  const below = new Map<string, number>();
  const count = (path: string, one: 1 | -1) => {
    for (const folder of foldersAbove(path)) below.set(folder, (below.get(folder) ?? 0) + one);
  };
  for (const path of left.keys()) count(path, 1);
  for (const op of gone.filter(({ a }) => a === null)) {
    for (const parent of foldersAbove(at(op))) {
      const made = left.get(parent);
      if (made === undefined || made.a !== null || (below.get(parent) ?? 0) > 0) break;
      left.delete(parent);
      count(parent, -1);
      drop(made);
    }
  }
  return [...left.values()];
}

/** A folder that must keep some entries stays; its other entries are removed one by one. */
function goneBeside(
  { roots }: SealedOps,
  { root, path: folder }: Op,
  paths: readonly string[],
  beside: { n: number; readonly planned: Set<string> },
): Op[] {
  const ops: Op[] = [];
  const top = roots[root] as string;
  const area = (path: string) => areaOf(path, root > 0, (at) => identify(top, at) === null);
  const enter = (path: string) => {
    for (const name of inFolder(top, path, (self) => readdirSync(self))) {
      const below = `${path}/${name}`;
      const absolute = join(top, below);
      if (paths.some((kept) => isInside(kept, absolute))) continue;
      if (paths.some((kept) => kept.startsWith(`${absolute}/`))) {
        enter(below);
        continue;
      }
      const a = identify(top, below);
      if (a === null || beside.planned.has(absolute)) continue;
      beside.planned.add(absolute);
      const aHash = hashAt(absolute, a, isIndexFile(below, area(below)));
      ops.push({ n: beside.n++, root, path: below, a, b: null, ...(aHash && { aHash }), area: area(below) });
    }
  };
  enter(folder);
  return ops;
}

/** Null if the new bytes equal the old ones. */
function rewriteOp(
  { folder, roots, workspace }: SealedOps,
  op: Op,
  rewrite: DifferenceVerdict["rewrite"],
): Op | null {
  const absolute = join(roots[op.root] as string, op.path);
  const bytes = rewrite.get(relative(workspace, absolute));
  if (bytes === undefined || op.b?.kind !== "file") return op;
  const staged = opSlotPath(folder, op.n, "b");
  chmodSync(staged, 0o600);
  writeFileSync(staged, bytes);
  chmodSync(staged, op.b.mode);
  const b = identifyAt(staged) as Identity;
  const bHash = hashAt(staged, b, isIndexFile(op.path, op.area));
  if (op.a?.kind === "file" && op.a.mode === b.mode && op.aHash !== undefined && op.aHash === bHash) {
    removeTree(staged);
    return null;
  }
  const { bHash: _, ...rest } = op;
  return { ...rest, b, ...(bHash && { bHash }) };
}

/** Changed files with another name: a commit replaces one name, and the others keep the old file. `linked`: the ops to ask; default all. */
export function partedLinks(
  ops: readonly Op[],
  roots: readonly string[],
  linked?: ReadonlySet<number>,
): SealNote[] {
  const parted = ops.filter(({ n, a, b, inPlace, root, path, area }) => {
    if (a?.kind !== "file" || b?.kind !== "file" || inPlace === true || area !== "file") return false;
    if (linked?.has(n) === false) return false;
    return ifThere(0, () => lstatSync(join(roots[root] as string, path)).nlink) > 1;
  });
  return parted.length === 0 ? [] : [sealNote("other-names", ...parted.map(({ path }) => path))];
}

/** Changed files that lost their owner or group: only root, or a member of the group, can give files away. Root does so on purpose. */
export function lostOwners(ops: readonly Op[]): SealNote[] {
  if (process.getuid?.() === 0) return [];
  const notes: SealNote[] = [];
  for (const { a, b, path } of ops) {
    if (a?.kind !== "file" || b?.kind !== "file") continue;
    if (a.uid !== b.uid) notes.push(sealNote("owner", path));
    if (a.gid !== b.gid) notes.push(sealNote("group", path));
  }
  return notes;
}

/** Beyond this many files one flush of the whole file system is cheaper than one each. */
const FILES_ONE_BY_ONE = 64;
/** The disk serves this many files at once without delaying other requests. */
const FILES_AT_ONCE = 4;

/** Starts the flush while a seal still moves files, once there are so many that they are flushed together. */
export type FlushAhead = ReturnType<typeof createFlushAhead>;

export function createFlushAhead(folder: JobFolder) {
  let begun: Promise<unknown> | null = null;
  let slots = 0;
  let passed = 0;
  return {
    onSlot(): void {
      slots += 1;
      if (slots === FILES_ONE_BY_ONE + 1) begun = Promise.all([begun, flushFileSystem(folder.path)]);
    },
    /** A file that the job left without a slot. */
    onPassed(): void {
      passed += 1;
      if (passed === FILES_ONE_BY_ONE + 1) begun = Promise.all([begun, commitJournal(folder)]);
    },
    /** Resolves when the flush has ended. Only `makeDurable` reports whether it succeeded. */
    done: async (): Promise<unknown> => begun,
  };
}

/** The file system's journal may hold copies of unneeded files, for which the plan's flush would wait: it is committed now. */
function commitJournal(folder: JobFolder): Promise<void> {
  return new Promise((resolve) => {
    const descriptor = openSync(join(folder.path, "stamp"), "a", 0o600);
    // Only a file in the journal's newest part triggers that.
    futimesSync(descriptor, 0, 0);
    fsync(descriptor, () => {
      closeSync(descriptor);
      resolve();
    });
  });
}

/** Staged entries reach the disk before any intent names them. The event loop continues while the disk works. */
export async function makeDurable(folder: JobFolder, ops: readonly Op[]): Promise<void> {
  const files = ops.filter(({ b, inPlace }) => b?.kind === "file" && inPlace !== true);
  const isFew = files.length <= FILES_AT_ONCE;
  if (files.length <= FILES_ONE_BY_ONE) {
    const flushed = files.map(({ n }) => flush(opSlotPath(folder, n, "b"), isFew));
    if ((isFew ? flushed : await Promise.all(flushed)).every((done) => done === true)) return;
  }
  if (await flushFileSystem(folder.path)) return;
  const descriptor = openSync(folder.path, "r");
  syncfs(descriptor);
  closeSync(descriptor);
}

/** False for a file that its own user may not open. */
function flush(path: string, atOnce: boolean): boolean | Promise<boolean> {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return false;
  }
  if (!atOnce)
    return new Promise((resolve, reject) =>
      fsync(descriptor, (error) => {
        closeSync(descriptor);
        if (error === null || error === undefined) resolve(true);
        else reject(error);
      }),
    );
  try {
    fsyncSync(descriptor);
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/** Takes an entry out of a layer. A folder that its own user may not write to is opened for that moment, as it is when the job lands. */
export function takeOut(absolute: string, take: () => void): void {
  try {
    take();
  } catch (error) {
    if ((error as { code?: string }).code !== "EACCES") throw error;
    const folder = dirname(absolute);
    const mode = lstatSync(folder).mode & 0o7777;
    if (lstatSync(absolute).isDirectory()) chmodSync(absolute, 0o700);
    chmodSync(folder, mode | 0o700);
    try {
      take();
    } finally {
      chmodSync(folder, mode);
    }
  }
}
