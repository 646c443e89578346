import { lstatSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type {
  BeginResult,
  SealedChanges,
  Transaction,
  ValidateDifference,
} from "../../application/ports/jobs-transaction.ts";
import type { Change } from "../../domain/jobs/result.ts";
import { gatherSealNotes, sealNote } from "../../domain/jobs/seal-note.ts";
import { inParent } from "./anchor.ts";
import { retryDespiteOthers } from "./despite-others.ts";
import { createWorkspaceFiles } from "./folder-files.ts";
import { createFolderView } from "./folder-view.ts";
import { identify } from "./entry-identity.ts";
import { removeTree } from "./remove-tree.ts";
import { currentEntryBelow, rewriteFile } from "./standing.ts";
import { walkFolder } from "./walk-folder.ts";
import { watchView } from "./watch-view.ts";
import type { LimitCopy, LimitedCopy } from "./limited-copy.ts";
import type { ConfineCopy, ConfinedCopy } from "./confined-copy.ts";
import { changedMeanwhile } from "./changed-meanwhile.ts";
import { hashIfUntouched, readNoFollow } from "./content.ts";
import { byteLook } from "./copy-bytes.ts";
import { createCopyChecks } from "./copy-check.ts";
import { type CopyLook, FOLDER, lookAtCopies } from "./copy-look.ts";
import { type CopiedRoot, copyRoots, restoreEntry } from "./copied-roots.ts";
import { type CopySeal, sealRoot } from "./copy-seal.ts";
import { takeStamp } from "./fs-stamp.ts";
import { mayBeIndex } from "./git-area.ts";
import { repointGit } from "./git-pointers.ts";
import { isInside, repositoryOf, rootsFor } from "./git-roots.ts";
import { type JobFolder, type Op, removeSlots, writePlan } from "./job-folder.ts";
import { validateOps } from "./seal-ops.ts";
import { makeDurable } from "./make-durable.ts";
import { isHidden, takeManifest } from "./manifest.ts";
import { renameable } from "./mounts.ts";
import { partedLinks } from "./parted-links.ts";
import { toChanges } from "./plan-changes.ts";
import { foldersOnTheWay } from "./way-folders.ts";

export interface CopyDeps {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly limitBytes: number;
  readonly ownFolders: readonly string[];
  readonly network: boolean;
  /** It leaves nothing in the home that jobs share: what its commands write there goes with it. */
  readonly ownHome: boolean;
  /** Shows the copies in the place of the originals inside a sandbox; null where nothing can be confined. */
  readonly confine: ConfineCopy | null;
  /** What serves where nothing can be confined. */
  readonly limit: () => LimitCopy | null;
}

/**
 * Stages a job in a copy of the workspace (and of its repository): commands run there, and the change set is
 * what differs in the end. The way for machines without overlays; cost follows the size of the workspace.
 */
export async function beginCopyTransaction(parts: CopyDeps): Promise<BeginResult> {
  const { workspace, folder, limitBytes, ownFolders, network, ownHome, confine, limit } = parts;
  const roots = rootsFor(workspace);
  const stamp = takeStamp(join(folder.path, "stamp"));
  const apart = roots.find((root) => !renameable(root, folder.path));
  if (apart !== undefined) {
    const message = `on another file system than the workspace, so that no commit can reach it: ${apart}`;
    return { ok: false, refusal: { code: "failed", message } };
  }
  const isOwn = (absolute: string) => ownFolders.includes(absolute);
  const manifests = roots.map((root) => takeManifest(root, (path) => isOwn(join(root, path))));
  const bytes = manifests.reduce((sum, manifest) => sum + manifest.bytes, 0);
  if (bytes > limitBytes) {
    return {
      ok: false,
      refusal: {
        code: "too-large",
        message: `the workspace holds ${bytes} bytes, more than worker.copy_limit`,
        bytes,
        limitBytes,
      },
    };
  }
  const copied = copyRoots({ roots, manifests, into: join(folder.path, "view"), ownFolders });
  if (!copied.ok) {
    const message = `the workspace could not be copied: ${copied.message}`;
    return { ok: false, refusal: { code: copied.code, message } };
  }
  const { copies } = copied;
  const confined =
    confine === null ? null : await confine(folder.path, copies, { network, throwAway: ownHome });
  if (confined !== null && "complaint" in confined) {
    const message = `the sandbox did not start: ${confined.complaint}`;
    return { ok: false, refusal: { code: "failed", message } };
  }
  const limited = confined === null ? ((await limit()?.(folder.path, copies, { network })) ?? null) : null;
  const pointers = confined === null ? repointGit(workspace, copies) : [];
  const started = takeStamp(join(folder.path, "stamp"));
  const bytesOf = ({ copy }: CopiedRoot, i: number) =>
    byteLook(manifests[i]?.hasBytes ? walkFolder(copy, { noText: true }) : []);
  return {
    ok: true,
    transaction: openCopy({
      workspace,
      folder,
      copies,
      manifests,
      pointers,
      ownFolders,
      stamp,
      started,
      bytes: copies.map(bytesOf),
      hashes: new Map(),
      confined,
      confine,
      limited,
      limit,
    }),
  };
}

interface OpenCopy extends CopySeal {
  readonly workspace: string;
  /** Before the manifest was taken: what the user changes from then on is a conflict. */
  readonly stamp: bigint;
  readonly confined: ConfinedCopy | null;
  readonly limited: LimitedCopy | null;
  readonly confine: ConfineCopy | null;
  readonly limit: () => LimitCopy | null;
}

function openCopy(state: OpenCopy): Transaction {
  const { workspace, folder, copies, manifests, started, confined, limited } = state;
  const top = copies[0] as CopiedRoot;
  const prefix = relative(top.original, workspace);
  const directory = join(top.copy, prefix);
  /** The view as of the last look: path → ctime, for telling what one command changed. */
  let last: CopyLook | null = null;
  const touched = new Set<string>();
  const inTop = (path: string) => (prefix === "" ? path : `${prefix}/${path}`);

  const snapshot = (before: CopyLook) => lookAtCopies(copies, before);

  /** The last look, brought up to date where our own edits went. */
  function glance(before: CopyLook): CopyLook {
    const now = new Map(before);
    for (const path of touched) {
      const key = `0:${inTop(path)}`;
      const found = identify(directory, path);
      if (found === null) now.delete(key);
      else now.set(key, found.kind === "directory" ? FOLDER : BigInt(found.ctime));
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

  /** Where a path of the change set stands: its root, its original and its copy. */
  function place(path: string) {
    const absolute = resolve(workspace, path);
    const found = copies.findLastIndex(({ original }) => isInside(original, absolute));
    const root = Math.max(0, found);
    const { original, copy } = copies[root] as CopiedRoot;
    const below = relative(original, absolute);
    return { root, below, key: `${root}:${below}`, original: absolute, copy: join(copy, below) };
  }

  /** Whether the job made or changed what stands there; what a check changed was put back with its times. */
  function isChanged(key: string): boolean {
    const root = Number(key[0]);
    const then = manifests[root]?.entries.get(key.slice(2));
    const now = identify((copies[root] as CopiedRoot).copy, key.slice(2));
    if (then === undefined || now === null || then.kind !== now.kind) return true;
    return (
      then.kind !== "directory" &&
      (then.mtime !== now.mtime || then.size !== now.size || then.mode !== now.mode)
    );
  }

  /** So that the file is known again when the user changes it now and takes that back later. */
  function noteOriginal(path: string): void {
    const { root, below, key } = place(path);
    const a = manifests[root]?.entries.get(below);
    if (a?.kind !== "file" || mayBeIndex(below) || state.hashes.has(key)) return;
    const hash = hashIfUntouched((copies[root] as CopiedRoot).original, below, a, false);
    if (hash !== undefined) state.hashes.set(key, hash);
  }

  const changes = () =>
    differences(initial(), snapshot(last ?? initial())).filter(
      ({ path, kind }) => kind !== "modified" || isChanged(place(path).key),
    );

  return {
    kind: "copy",
    view:
      confined === null
        ? createFolderView(directory, (path) => touched.add(path))
        : watchView(confined.view, (path) => touched.add(path)),
    directory: confined === null ? directory : workspace,
    environment: confined?.environment ?? limited?.environment ?? {},
    ...(limited !== null && { processes: limited.processes, isLimited: true }),
    ...confined?.limited,
    ...(confined !== null && { processes: confined.processes, hiddenHome: confined.hiddenHome }),
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
        const { root, below, key, original } = place(path);
        const { copy } = copies[root] as CopiedRoot;
        retryDespiteOthers(() => restoreEntry(copies[root] as CopiedRoot, below, original));
        const now = identify(copy, below);
        if (now) last?.set(key, BigInt(now.ctime));
        else last?.delete(key);
      }
    },
    rewrite(path, bytes) {
      const { root, below, key } = place(path);
      const { copy } = copies[root] as CopiedRoot;
      retryDespiteOthers(() => rewriteFile(copy, below, bytes));
      const now = identify(copy, below);
      if (now) last?.set(key, BigInt(now.ctime));
    },
    look(path, when) {
      const { root, below } = place(path);
      if (when === "after") return currentEntryBelow((copies[root] as CopiedRoot).copy, below);
      return manifests[root]?.entries.get(below) ?? null;
    },
    original(path) {
      const { root, below, original } = place(path);
      return manifests[root]?.entries.get(below)?.kind === "file" ? readNoFollow(original) : null;
    },
    current(path) {
      const { root, below } = place(path);
      return bytesIn((copies[root] as CopiedRoot).copy, below);
    },
    repository: repositoryOf(workspace),
    layers: {
      rest: async () => void (await (confined ?? limited)?.processes.killJobProcesses(folder.id)),
      wake: async () => null,
      changes,
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
      limited?.stop();
      return sealCopy(state, judge);
    },
    discard: async () => {
      await confined?.stop();
      limited?.stop();
      removeSlots(folder);
    },
  };
}

/** A file's bytes; null where none stands, or where a link leads away. */
function bytesIn(root: string, path: string): Uint8Array | null {
  try {
    return inParent(root, path, (folder, name) =>
      lstatSync(`${folder}/${name}`).isFile() ? readNoFollow(`${folder}/${name}`) : null,
    );
  } catch {
    return null;
  }
}

async function sealCopy(state: OpenCopy, judge: ValidateDifference): Promise<SealedChanges> {
  const { workspace, folder, copies, manifests, stamp } = state;
  const left: Op[] = [];
  const notes = manifests.flatMap(({ hidden }) => [...hidden].map((path) => sealNote("hidden", path)));
  const noText: string[] = [];
  for (const [index, { original }] of copies.entries()) {
    const sealed = sealRoot(state, index, left.length);
    for (const op of sealed.ops) left.push(op);
    notes.push(...sealed.notes);
    noText.push(...sealed.noText.map((path) => relative(workspace, join(original, path))));
  }
  if (noText.length > 0) return { changes: [], outside: [], notes: gatherSealNotes(notes), noText };
  const outside = changedMeanwhile(copies, manifests, new Set(left.map((op) => `${op.root}:${op.path}`)));
  removeTree(join(folder.path, "view"));
  const roots = copies.map(({ original }) => original);
  const { ops } = validateOps({ folder, workspace, roots, ops: left }, judge);
  makeDurable(folder, ops);
  notes.push(...partedLinks(ops, roots));
  const folders = foldersOnTheWay(ops, (root, path) => manifests[root]?.entries.get(path) ?? null);
  writePlan(folder, { roots, stamp: String(stamp), ops, folders });
  return {
    changes: toChanges(ops, roots, workspace),
    outside: outside.map((path) => relative(workspace, path)),
    notes: gatherSealNotes(notes),
  };
}
