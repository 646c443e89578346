import { chmodSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type {
  BeginResult,
  SealedChanges,
  StartedBy,
  Transaction,
  ValidateDifference,
} from "../../application/ports/jobs-transaction.ts";
import { ViewFault } from "../../application/ports/platform-view.ts";
import {
  type BeginRefusal,
  type Change,
  gatherSealNotes,
  type SealNote,
  sealNote,
} from "../../domain/jobs/result.ts";
import { foldersAbove, isInside } from "../../domain/platform/paths.ts";
import {
  type JobFolder,
  type Op,
  opSlotPath,
  removeLayers,
  removeSlots,
  takeStamp,
  toChanges,
  writePlan,
} from "../jobs/job-folder.ts";
import { type Identity, identify, identifyAt, kindOf, rewriteFile } from "../platform/entry-identity.ts";
import {
  createFolderView,
  createWorkspaceFiles,
  currentEntryBelow,
  retryDespiteOthers,
  watchView,
} from "../platform/folder-view.ts";
import { findReach, gitCeiling, repositoryOf, rootsFor } from "../platform/git-roots.ts";
import { renameable } from "../platform/mount-points.ts";
import { bytesBelow } from "../platform/read-file.ts";
import { type WalkedEntry, type WalkOptions, walkFolder } from "../platform/walk-folder.ts";
import type { ConfineCopy, ConfinedCopy, LimitCopy, LimitedCopy } from "../sandbox/start-executor.ts";
import { findLost, listStandIns, movedAway, withoutParents } from "./apart-entries.ts";
import {
  areaOf,
  hashAt,
  hashIfUntouched,
  isIndexFile,
  isVisiblySame,
  keptFolder,
  keptRoot,
  keptTimes,
  mayBeIndex,
  onlyModeDiffers,
  readSettled,
} from "./compare-entries.ts";
import {
  type CopiedRoot,
  type CopyLook,
  copyRoots,
  FOLDER,
  isApart,
  isHidden,
  leaveOut,
  lookAtCopies,
  type Manifest,
  notesPaths,
  type Pointer,
  repointGit,
  restoreEntry,
  restorePaths,
  takeManifest,
} from "./copied-roots.ts";
import { type CopyChecks, createCopyChecks } from "./copy-check.ts";
import { namedIn } from "./hidden-files.ts";
import {
  gatherSealedRoots,
  hasMovedFrom,
  lostOwners,
  makeDurable,
  partedLinks,
  takeOut,
  validateOps,
} from "./seal-ops.ts";
import { foldersOnTheWay } from "./swap.ts";

const MEANWHILE_LIMIT = 20;
/** Larger files are not merged. */
const BASE_LIMIT_BYTES = 1024 * 1024;

/** Paths of the workspace that the user, another program, or the job outside its view changed while the job ran. */
function changedMeanwhile(
  copies: readonly CopiedRoot[],
  manifests: readonly Manifest[],
  planned: ReadonlySet<string>,
): string[] {
  const changed: string[] = [];
  copies.forEach(({ original }, i) => {
    const manifest = manifests[i] as Manifest;
    for (const [path, then] of manifest.entries) {
      if (changed.length >= MEANWHILE_LIMIT) break;
      if (then.kind === "directory" || planned.has(`${i}:${path}`)) continue;
      if (identify(original, path)?.isChangedWith(then) !== true) changed.push(join(original, path));
    }
  });
  return changed;
}

/** Names of a copy that are no UTF-8, as people can read them, with mode and time. */
type ByteLook = ReadonlyMap<
  string,
  { readonly mode: number; readonly ctime: bigint; readonly isFolder: boolean }
>;

function byteLook(entries: Iterable<WalkedEntry>): ByteLook {
  const look = new Map<string, { mode: number; ctime: bigint; isFolder: boolean }>();
  for (const { path, stats, noText } of entries)
    if (noText) look.set(path, { mode: stats.mode, ctime: stats.ctimeNs, isFolder: stats.isDirectory() });
  return look;
}

/** Which of them a job created, changed or removed. `isGoneWhole`: whether the folder of a path is gone as a whole. */
function touchedBytes(
  before: ByteLook,
  now: ByteLook,
  isGoneWhole: (path: string) => boolean,
): readonly string[] {
  const touched: string[] = [];
  for (const [path, { mode, ctime, isFolder }] of now) {
    const then = before.get(path);
    if (then === undefined || then.mode !== mode || (!isFolder && then.ctime !== ctime)) touched.push(path);
  }
  for (const path of before.keys()) if (!now.has(path) && !isGoneWhole(path)) touched.push(path);
  return touched;
}

interface CopySeal {
  readonly folder: JobFolder;
  readonly copies: readonly CopiedRoot[];
  readonly manifests: readonly Manifest[];
  readonly pointers: readonly Pointer[];
  readonly ownFolders: readonly string[];
  /** After the copy was made, before the first command: older entries were not touched by the job. */
  readonly started: bigint;
  /** Hashes of originals as they were when the job was first seen to change them, by root and path. */
  readonly hashes: Map<string, string>;
  /** The content of each copy at that point under names that are not UTF-8. */
  readonly bytes: readonly ByteLook[];
  /** The paths of each copy at that point which only stand for something that the job does not see. */
  readonly standIns: readonly ReadonlySet<string>[];
}

/** Compares one copy with its root's manifest, and moves new and changed entries into slots. */
function sealRoot(state: CopySeal, index: number, firstSlot: number) {
  const { folder, copies, started } = state;
  const manifest = state.manifests[index] as Manifest;
  const root = copies[index] as CopiedRoot;
  const isNewRepository = (path: string) => !manifest.entries.has(path);
  const area = (path: string) => areaOf(path, index > 0, isNewRepository);
  const hashOf = (path: string, a: Identity, isIndex: boolean) =>
    state.hashes.get(`${index}:${path}`) ?? hashIfUntouched(root.original, path, a, isIndex);
  const isOwn = (path: string) => state.ownFolders.includes(join(root.original, path));
  const notes: SealNote[] = index === 0 ? keptRoot(root.original, root.copy) : [];
  const touched: string[] = [];
  const tooDeep: string[] = [];
  const unreadable: WalkOptions["unreadable"] = (path, why) => {
    if (isHidden(manifest.hidden, path)) return;
    if (why?.tooLong) tooDeep.push(path);
    else notes.push(sealNote("unreadable", path));
  };
  const enter = (path: string) => !isOwn(path);
  const all = [...walkFolder(root.copy, { unlock: true, enter, unreadable, noText: true })];
  const found = all.filter(({ noText }) => noText !== true);
  const folders = new Set(found.filter(({ stats }) => stats.isDirectory()).map(({ path }) => path));
  // The job did not see all of their contents, so it cannot remove them as a whole.
  const above = new Set([...manifest.hidden, ...manifest.mounts].flatMap((path) => [...foldersAbove(path)]));
  const isGoneWhole = (path: string) => isGoneWithFolder(path, manifest, folders, above);
  const noText = touchedBytes(state.bytes[index] as ByteLook, byteLook(all), isGoneWhole);
  const standIns = state.standIns[index] as ReadonlySet<string>;
  const seen = new Set(found.map(({ path }) => path));
  const gone = [...manifest.entries].filter(([path]) => !seen.has(path) && !isApart(manifest, path));
  const lost = findLost({ root, manifest, found, seen, standIns, started });
  const unseen = movedAway(root, lost.files, gone, (path, then) => hashOf(path, then, false));
  const left = withoutParents(lost.paths);
  if (left.length > 0) notes.push(sealNote("apart", ...left));
  if (noText.length + tooDeep.length + unseen.length > 0) return { ops: [], notes, noText, tooDeep, unseen };
  const ops: Op[] = [];
  const made: { op: Op; from: string; mode: number }[] = [];
  for (const entry of found) {
    const { path, stats } = entry;
    const a = manifest.entries.get(path) ?? null;
    if (isApart(manifest, path)) continue;
    const places = { from: join(root.original, path), to: join(root.copy, path) };
    if (stats.isDirectory() && stats.ctimeNs >= started)
      notes.push(...keptFolder({ path, a, stats, ...places, carriesOwner: true }));
    if (isAsItWas(entry, a, started)) continue;
    const absolute = places.to;
    const pointer = state.pointers.some(({ file }) => file === absolute);
    if (pointer && stats.ctimeNs < started) continue;
    // When a job is sealed its processes have ended: a remaining lock file of git would only block the user.
    const isLock = area(path) === "git" && a === null && path.endsWith(".lock");
    const isDevice = stats.isBlockDevice() || stats.isCharacterDevice();
    const holdsHidden = above.has(path) && !stats.isDirectory();
    if (isDevice || holdsHidden || isLock) {
      notes.push(sealNote(isDevice ? "device" : holdsHidden ? "holds-hidden" : "stale-lock", path));
      continue;
    }
    if (stats.isFile() && notesPaths(path, stats.size)) restorePaths(absolute, state.pointers, copies);
    const isIndex = isIndexFile(path, area(path));
    const mode = stats.permissions;
    const now = (identifyAt(absolute) as Identity).withMode(mode);
    const bHash = hashAt(absolute, now, isIndex);
    const aHash = a === null ? undefined : hashOf(path, a, isIndex);
    const compared = { a: a as Identity, b: now, aHash, bHash, isIndex, ...places };
    if (a !== null && a.kind !== "directory" && isVisiblySame(compared)) {
      if (a.kind === "file" && area(path) === "file" && !a.isWrittenWith(now)) touched.push(path);
      continue;
    }
    const inPlace = a !== null && area(path) === "file" && onlyModeDiffers(compared);
    const n = firstSlot + ops.length;
    const more = { ...(aHash && { aHash }), ...(bHash && { bHash }), ...(inPlace && { inPlace }) };
    const b = inPlace ? a.withMode(mode) : now;
    const op: Op = { n, root: index, path, a, b, area: area(path), ...more };
    if (stats.isDirectory()) {
      if (a?.kind !== "directory") made.push({ op, from: absolute, mode });
    } else if (!inPlace) takeOut(absolute, () => renameSync(absolute, opSlotPath(folder, n, "b")));
    ops.push(op);
  }
  takeFolders(folder, made);
  notes.push(...lostOwners(ops));
  for (const [path, a] of gone) {
    if (above.has(path)) notes.push(sealNote("holds-hidden", path));
    if (above.has(path) || isGoneWhole(path)) continue;
    const aHash = hashOf(path, a, isIndexFile(path, area(path)));
    const n = firstSlot + ops.length;
    ops.push({ n, root: index, path, a, b: null, ...(aHash && { aHash }), area: area(path) });
  }
  notes.push(...keptTimes(ops, touched));
  return { ops, notes, noText, tooDeep, unseen };
}

/** Not touched since the copy was made; folders and special files are compared by kind, mode and owner only. */
function isAsItWas({ stats }: WalkedEntry, a: Identity | null, started: bigint): boolean {
  if (a === null || a.kind !== kindOf(stats)) return false;
  if (a.kind !== "directory" && a.kind !== "other") return stats.ctimeNs < started;
  const sameOwner = process.getuid?.() !== 0 || (stats.uid === a.uid && stats.gid === a.gid);
  return stats.permissions === a.mode && sameOwner;
}

/** New folders, emptied by now, deepest first: as inodes they keep attributes and times. */
function takeFolders(folder: JobFolder, made: readonly { op: Op; from: string; mode: number }[]): void {
  for (const { op, from, mode } of [...made].reverse()) {
    const to = opSlotPath(folder, op.n, "b");
    if (readdirSync(from).length === 0) takeOut(from, () => renameSync(from, to));
    else mkdirSync(to); // It holds entries that are not carried over.
    chmodSync(to, mode);
  }
}

/** A deleted folder is one op that includes its contents, unless the folder must stay. */
function isGoneWithFolder(
  path: string,
  manifest: Manifest,
  folders: ReadonlySet<string>,
  above: ReadonlySet<string>,
): boolean {
  const slash = path.lastIndexOf("/");
  if (slash < 0) return false;
  const parent = path.slice(0, slash);
  return manifest.entries.get(parent)?.kind === "directory" && !folders.has(parent) && !above.has(parent);
}

export interface CopyDeps extends Pick<CopyChecks, "workspace" | "folder" | "ownFolders" | "limit"> {
  readonly limitBytes: number;
  readonly startedBy: StartedBy;
  /** The files that commands started so may not read; absolute. */
  readonly secretFiles: (startedBy: StartedBy) => readonly string[];
  readonly network: boolean;
  /** The job leaves nothing in the home that jobs share: files that its commands write there are removed with it. */
  readonly ownHome: boolean;
  /** Shows the copies in the place of the originals inside a sandbox; null where nothing can be confined. */
  readonly confine: ConfineCopy | null;
}

/** Stages a job in a copy of the workspace and its repository, for machines without overlays. Cost follows the size of the workspace. */
export async function beginCopyTransaction(deps: CopyDeps): Promise<BeginResult> {
  const { workspace, folder, limitBytes, ownFolders, startedBy, network, ownHome, confine, limit } = deps;
  const roots = rootsFor(workspace);
  const stamp = takeStamp(join(folder.path, "stamp"));
  const refuse = (message: string, code: BeginRefusal["code"] = "failed"): BeginResult => {
    return { ok: false, refusal: { code, message } };
  };
  const apart = roots.find((root) => !renameable(root, folder.path));
  if (apart !== undefined)
    return refuse(`on another file system than the workspace, so that no commit can reach it: ${apart}`);
  const manifests = roots.map((root) => takeManifest(root, ownFolders));
  const held = manifests.reduce((sum, { bytes }) => sum + bytes, 0);
  if (held > limitBytes) {
    const message = `the workspace holds ${held} bytes, more than worker.copy_limit`;
    return { ok: false, refusal: { code: "too-large", message, bytes: held, limitBytes } };
  }
  const copied = copyRoots({ roots, manifests, into: join(folder.path, "view"), ownFolders });
  if (!copied.ok) return refuse(`the workspace could not be copied: ${copied.message}`, copied.code);
  const { copies } = copied;
  const secrets = deps.secretFiles(startedBy);
  leaveOut(copies, secrets, manifests);
  const confined =
    confine === null ? null : await confine(folder.path, copies, { startedBy, network, throwAway: ownHome });
  if (confined !== null && "complaint" in confined)
    return refuse(`the sandbox did not start: ${confined.complaint}`);
  const limited = confined === null ? ((await limit()?.(folder.path, copies, { network })) ?? null) : null;
  const pointers = confined === null ? repointGit(workspace, copies) : [];
  const started = takeStamp(join(folder.path, "stamp"));
  const bytes = copies.map(({ copy }, i) =>
    byteLook(manifests[i]?.hasBytes ? walkFolder(copy, { noText: true }) : []),
  );
  const seal: CopySeal = {
    folder,
    copies,
    manifests,
    pointers,
    ownFolders,
    started,
    hashes: new Map(),
    bytes,
    standIns: copies.map((root, i) => listStandIns(root, manifests[i] as Manifest)),
  };
  return { ok: true, transaction: openCopy({ ...deps, ...seal, stamp, confined, limited, secrets }) };
}

interface OpenCopy extends CopySeal {
  readonly workspace: string;
  /** Before the manifest was taken: later changes of the user are conflicts. */
  readonly stamp: bigint;
  readonly confined: ConfinedCopy | null;
  readonly limited: LimitedCopy | null;
  /** What the copies do not hold. */
  readonly secrets: readonly string[];
  readonly secretFiles: CopyDeps["secretFiles"];
  readonly confine: ConfineCopy | null;
  readonly limit: () => LimitCopy | null;
}

function openCopy(state: OpenCopy): Transaction {
  const { workspace, folder, copies, manifests, started, confined, limited } = state;
  const top = copies[0] as CopiedRoot;
  const prefix = relative(top.original, workspace);
  const directory = join(top.copy, prefix);
  /** The view as of the last look: path → ctime, to find the changes of one command. */
  let last: CopyLook | null = null;
  const touched = new Set<string>();
  /** The content of originals as the job found them, by root and path. */
  const bases = new Map<string, Uint8Array>();
  const inTop = (path: string) => (prefix === "" ? path : `${prefix}/${path}`);

  const snapshot = (before: CopyLook) => lookAtCopies(copies, before);
  const markOf = ({ kind, ctime }: Identity) => (kind === "directory" ? FOLDER : BigInt(ctime));

  /** The state at the last look, updated with our own edits. */
  function glance(before: CopyLook): CopyLook {
    const now = new Map(before);
    for (const path of touched) {
      const key = `0:${inTop(path)}`;
      const found = identify(directory, path);
      if (found === null) now.delete(key);
      else now.set(key, markOf(found));
      if (found?.kind === "directory") {
        for (const below of walkFolder(join(directory, path)))
          now.set(`${key}/${below.path}`, below.stats.isDirectory() ? FOLDER : below.stats.ctimeNs);
      } else for (const known of before.keys()) if (known.startsWith(`${key}/`)) now.delete(known);
    }
    return now;
  }

  function initial(): CopyLook {
    const known: CopyLook = new Map();
    manifests.forEach(({ entries }, i) => {
      for (const [path, identity] of entries)
        known.set(`${i}:${path}`, identity.kind === "directory" ? FOLDER : 0n);
    });
    return known;
  }

  function differences(before: CopyLook, now: CopyLook): Change[] {
    const changes: Change[] = [];
    for (const [key, ctime] of now) {
      const then = before.get(key);
      if (then === undefined) changes.push({ path: shown(key), kind: "added" });
      else if (then === 0n ? ctime === FOLDER || ctime >= started : ctime !== then)
        changes.push({ path: shown(key), kind: "modified" });
    }
    for (const key of before.keys()) {
      if (!now.has(key) && !isHidden(manifests[Number(key[0])]?.hidden ?? new Set(), key.slice(2)))
        changes.push({ path: shown(key), kind: "deleted" });
    }
    return changes
      .filter(({ path }) => !/(^|\/)\.git\/(.*\/)?objects\//.test(path))
      .sort((x, y) => (x.path < y.path ? -1 : 1));
  }

  const shown = (key: string) =>
    relative(workspace, join((copies[Number(key[0])] as CopiedRoot).original, key.slice(2)));

  /** The location of a path in the change set: its root, with the entries of that at begin, and below it. */
  function place(path: string) {
    const absolute = resolve(workspace, path);
    const index = Math.max(
      0,
      copies.findLastIndex(({ original }) => isInside(original, absolute)),
    );
    const root = copies[index] as CopiedRoot;
    const { entries } = manifests[index] as Manifest;
    const below = relative(root.original, absolute);
    return { root, entries, below, key: `${index}:${below}`, absolute };
  }

  /** Updates the state of the last look at a path. */
  function lookAgain({ root, below, key }: ReturnType<typeof place>): void {
    const now = identify(root.copy, below);
    if (now === null) last?.delete(key);
    else last?.set(key, markOf(now));
  }

  /** Whether the job made or changed the current entry; changes by a check were restored with their times. */
  function isChanged(key: string): boolean {
    const root = Number(key[0]);
    const then = manifests[root]?.entries.get(key.slice(2));
    const now = identify((copies[root] as CopiedRoot).copy, key.slice(2));
    if (then === undefined || now === null || then.kind !== now.kind) return true;
    return (
      then.kind !== "directory" &&
      (!then.isWrittenWith(now) || then.size !== now.size || then.mode !== now.mode)
    );
  }

  /** Recognises the file if the user changes it now and reverts that later, and makes it available for a merge. */
  function noteOriginal(path: string): void {
    const { root, entries, below, key } = place(path);
    const a = entries.get(below);
    if (a?.kind !== "file" || mayBeIndex(below) || state.hashes.has(key)) return;
    const { original } = root;
    const bytes = a.size > BASE_LIMIT_BYTES ? null : bytesBelow(original, below);
    const hash = hashIfUntouched(original, below, a, false);
    if (hash === undefined) return;
    state.hashes.set(key, hash);
    if (bytes !== null) bases.set(key, bytes);
  }

  /** The path's present original replaces the one that the job found. */
  function refind(path: string, found: Identity | null): void {
    const placed = place(path);
    const { entries, below, key, absolute } = placed;
    if (found === null) entries.delete(below);
    else entries.set(below, found);
    bases.delete(key);
    const hash = found === null ? undefined : hashAt(absolute, found, false);
    if (hash === undefined) state.hashes.delete(key);
    else state.hashes.set(key, hash);
    lookAgain(placed);
  }

  function hasMoved(path: string): boolean {
    const { root, entries, below, key, absolute } = place(path);
    const now = identify(root.original, below);
    return hasMovedFrom(entries.get(below) ?? null, now, state.hashes.get(key), (now) =>
      hashAt(absolute, now, false),
    );
  }

  /** The commands that could not be ended: they could write after the commit through a file that they have open. */
  async function endJob(): Promise<readonly string[]> {
    const { createProcessRunner } = await import("../platform/process-runner.ts");
    const { boundRunner, findReachedBound } = await import("../sandbox/process-bound.ts");
    const why = findReachedBound(folder.id);
    const killed = await boundRunner(limited?.processes ?? createProcessRunner(), 0).killJobProcesses(
      folder.id,
    );
    if (why !== null) throw why;
    return killed.filter(({ survived }) => survived).map(({ command }) => command);
  }

  /** An edit names its path, so it is not lost as what a command leaves there. */
  function refuseApart(path: string): void {
    if (isApart(manifests[0] as Manifest, inTop(path)))
      throw new ViewFault("permission", path, `on another mount, or not visible to jobs: ${path}`);
  }

  const changes = () =>
    differences(initial(), snapshot(last ?? initial())).filter(
      ({ path, kind }) => kind !== "modified" || isChanged(place(path).key),
    );

  return {
    kind: "copy",
    view: watchView(
      confined === null
        ? createFolderView(directory, (path) => touched.add(path))
        : watchView(confined.view, (path) => touched.add(path)),
      refuseApart,
    ),
    directory: confined === null ? directory : workspace,
    environment: {
      ...(confined ?? limited)?.environment,
      ...gitCeiling([confined === null ? top.copy : top.original]),
    },
    ...(limited !== null && { processes: limited.processes, isLimited: true }),
    ...confined?.limited,
    ...(confined !== null && { processes: confined.processes, hiddenHome: confined.hiddenHome }),
    ...(confined !== null && { homeAside: confined.homeAside }),
    secretFiles: () => state.secrets.map((path) => relative(workspace, path)),
    hiddenSecrets: (words) => namedIn(words, state.secrets, workspace),
    takeChanges({ processRan }) {
      const before = last ?? initial();
      const now = processRan ? snapshot(before) : glance(before);
      last = now;
      touched.clear();
      const changes = differences(before, now);
      for (const { path, kind } of changes) if (kind !== "added") noteOriginal(path);
      return changes;
    },
    revert(paths) {
      for (const path of paths) {
        const placed = place(path);
        if (!state.secrets.includes(placed.absolute))
          retryDespiteOthers(() => restoreEntry(placed.root, placed.below, placed.absolute));
        leaveOut(
          [placed.root],
          state.secrets.filter((one) => isInside(placed.absolute, one)),
        );
        lookAgain(placed);
      }
    },
    rewrite(path, bytes) {
      const placed = place(path);
      retryDespiteOthers(() => rewriteFile(placed.root.copy, placed.below, bytes));
      lookAgain(placed);
    },
    look(path, when) {
      const { root, entries, below } = place(path);
      return when === "after" ? currentEntryBelow(root.copy, below) : (entries.get(below) ?? null);
    },
    original(path) {
      const { root, below } = place(path);
      return bytesBelow(root.original, below);
    },
    current(path) {
      const { root, below } = place(path);
      return bytesBelow(root.copy, below);
    },
    repository: repositoryOf(workspace),
    foreign: findReach(workspace).foreign,
    layers: {
      rest: async () => void (await (confined ?? limited)?.processes.killJobProcesses(folder.id)),
      wake: async () => null,
      changes,
      moved: () =>
        changes()
          .filter(({ path }) => hasMoved(path))
          .map(({ path, kind }) => ({ path, base: kind === "added" ? null : bases.get(place(path).key) })),
      adopt(path, theirs, bytes) {
        const { root, entries, below, key } = place(path);
        if (identify(root.copy, below)?.kind !== "file") return false;
        const found = readSettled(root.original, below, theirs);
        if (found === null) return false;
        rewriteFile(root.copy, below, bytes, { was: entries.get(below)?.mode, now: found.mode });
        refind(path, found);
        bases.set(key, theirs);
        return true;
      },
      forget(paths) {
        for (const path of paths) {
          const { root, below, absolute } = place(path);
          if (!state.secrets.includes(absolute)) restoreEntry(root, below, absolute);
          refind(path, identify(root.original, below));
        }
      },
      files: createWorkspaceFiles(directory),
      openCheck: createCopyChecks({
        ...state,
        look: () => snapshot(last ?? initial()),
        isOwn: (key) => isChanged(key),
        onBack: () => {
          last = snapshot(last ?? initial());
          touched.clear();
        },
      }),
    },
    seal: async (judge) => {
      const why = confined?.whyEnded() ?? null;
      if (why !== null) throw why;
      await confined?.stop();
      const outlived = confined === null ? await endJob() : [];
      limited?.stop();
      if (outlived.length > 0) return { changes: [], outside: [], notes: [], outlived };
      return sealCopy(state, judge);
    },
    discard: async () => {
      await confined?.stop();
      limited?.stop();
      removeSlots(folder);
    },
  };
}

async function sealCopy(state: OpenCopy, judge: ValidateDifference): Promise<SealedChanges> {
  const { workspace, folder, copies, manifests, stamp } = state;
  const gathered = gatherSealedRoots(workspace);
  const { ops: left, notes } = gathered;
  notes.push(...manifests.flatMap(({ hidden }) => [...hidden].map((path) => sealNote("hidden", path))));
  for (const [index, { original }] of copies.entries())
    gathered.add(original, sealRoot(state, index, left.length));
  const refusal = gathered.refusal();
  if (refusal !== null) return { ...refusal, notes: gatherSealNotes(notes) };
  const outside = changedMeanwhile(copies, manifests, new Set(left.map((op) => `${op.root}:${op.path}`)));
  const entries = manifests.reduce((sum, { entries }) => sum + entries.size, left.length);
  removeLayers(folder, ["view"], entries);
  const roots = copies.map(({ original }) => original);
  const { ops, notes: lost } = validateOps({ folder, workspace, roots, ops: left }, judge);
  await makeDurable(folder, ops);
  notes.push(...lost, ...partedLinks(ops, roots));
  const folders = foldersOnTheWay(ops, (root, path) => manifests[root]?.entries.get(path) ?? null);
  writePlan(folder, { roots, workspace, stamp: String(stamp), ops, folders });
  return {
    changes: toChanges(ops, roots, workspace),
    outside: outside.map((path) => relative(workspace, path)),
    notes: gatherSealNotes(notes),
  };
}
