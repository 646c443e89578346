import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type Entry, toViewFault, type View, ViewFault } from "../../application/ports/platform-view.ts";
import { foldersAbove, parentOf } from "../../domain/platform/paths.ts";
import {
  foldsCase,
  type Identity,
  identify,
  identifySettled,
  isAbsence,
  sameUntouched,
} from "../platform/entry-identity.ts";
import { adoptOwner, readEntryAt, readRegular, staysInPlace } from "../platform/folder-view.ts";
import { inFolder, inParent } from "../platform/open-folder.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { copyXattrs } from "../platform/xattr.ts";

/** The future state of a staged path; what is in `slotPath` is moved in by the commit. */
type Staged =
  | { readonly kind: "gone" }
  | { readonly kind: "file" | "symlink" | "directory"; readonly slotPath: string };

interface StagedBase {
  readonly base: Identity | null;
  /** Of its bytes, from when it was staged. */
  hash?: string | undefined;
  /** From then, too, where they are few. */
  bytes?: Uint8Array | undefined;
  readonly n: number;
}

export interface StagedView extends View {
  /** Every staged path, with the entry that was there when it was first read. */
  staged(): Map<string, StagedBase & { slotPath: string | null }>;
  /** The parent folder of a staged path when the path was first read; null if there was none. */
  folderBase(path: string): Identity | null;
  /** Paths staged since the last call, with their entries before. */
  takeTouched(): Map<string, Entry>;
  forget(path: string): void;
  /** Reads a file without recording it as found by the job. */
  peek(path: string): Uint8Array;
  /** Forgets also the entry that the job found there. */
  reset(path: string): void;
  /** Gives a staged file other bytes, and records the given base as the entry that the job found. */
  adopt(path: string, base: Identity, theirs: Uint8Array, bytes: Uint8Array): void;
}

/** Of one file, whose first bytes are kept. */
const KEPT_BYTES = 1024 * 1024;
const KEPT_BYTES_OF_JOB = 16 * KEPT_BYTES;

export interface StagedViewDeps {
  readonly root: string;
  readonly slotPath: (n: number) => string;
  /** The hash of the current entry at a path, if that is still `base`. */
  readonly hashBase: (path: string, base: Identity) => string | undefined;
}

/** The view of a job that only edits: pending changes over the workspace, whole files in their slots. Cost follows the change. */
export function createStagedView({ root, slotPath, hashBase }: StagedViewDeps): StagedView {
  const entries = new Map<string, Staged>();
  const bases = new Map<string, StagedBase>();
  const folders = new Map<string, Identity | null>();
  let count = 0;
  let keptBytes = 0;
  let touched = new Map<string, Entry>();

  /** A job cannot do more than the user: overwriting needs a writable file, the rest a writable folder. */
  function refuseShut(path: string, overwrites: boolean): void {
    if (entries.has(path)) return;
    if (overwrites) {
      inParent(root, path, (folder, name) => accessSync(`${folder}/${name}`, constants.W_OK));
      return;
    }
    for (let at = path; at !== ""; ) {
      at = parentOf(at);
      if (entries.get(at)?.kind === "directory") return;
      if (at !== "" && look(at).kind !== "directory") continue;
      inFolder(root, at, (folder) => accessSync(folder, constants.W_OK | constants.X_OK));
      return;
    }
  }

  /** A folder that changes its parent is written to. */
  function refuseShutFolder(from: string, to: string): void {
    if (entries.has(from) || look(from).kind !== "directory" || parentOf(from) === parentOf(to)) return;
    inFolder(root, from, (folder) => accessSync(folder, constants.W_OK));
  }

  /** A folder moves whole or not at all. */
  function refuseUnmovable(from: string): void {
    const { kind } = look(from);
    if (kind === "directory") for (const name of list(from)) refuseUnmovable(`${from}/${name}`);
    else if (kind === "missing" && !from.includes("\ufffd"))
      throw new ViewFault("missing", from, `no such file or directory: ${from}`);
    else if (kind === "missing" || kind === "other")
      throw new ViewFault("not-a-file", from, `cannot be moved: ${from}`);
  }

  /** By copying and removing, entry by entry. */
  function moveTree(from: string, to: string): void {
    const found = look(from);
    if (found.kind !== "directory") copy(from, to);
    else {
      makeDirectory(to);
      for (const name of list(from)) moveTree(`${from}/${name}`, `${to}/${name}`);
      const made = entries.get(to);
      if (made?.kind === "directory") chmodSync(made.slotPath, found.mode);
    }
    remove(from);
  }

  function lowerLook(path: string): Entry {
    if (foldsCase(root) && path !== "" && identify(root, path) === null) return { kind: "missing" };
    try {
      return inParent(root, path, (folder, name) => readEntryAt(`${folder}/${name}`));
    } catch (error) {
      if (isAbsence(error)) return { kind: "missing" };
      throw toViewFault(error, path);
    }
  }

  function look(path: string): Entry {
    if (path === "") return { kind: "directory", mode: 0o755 };
    const own = entries.get(path);
    if (own !== undefined) return own.kind === "gone" ? { kind: "missing" } : readEntryAt(own.slotPath);
    for (const folder of foldersAbove(path)) {
      const above = entries.get(folder);
      if (above === undefined) continue;
      if (above.kind !== "directory") return { kind: "missing" };
      break;
    }
    return lowerLook(path);
  }

  /** Notes the current entry at a path before it is staged for the first time; returns its slot. */
  function touch(path: string): string {
    refuseUnusable(path);
    if (foldsCase(root)) refuseOtherSpelling(path);
    const known = baseOf(path);
    if (known.base !== null && !("hash" in known)) keepBase(path, known, known.base);
    if (!touched.has(path)) touched.set(path, look(path));
    return slotPath(known.n);
  }

  /** A second spelling would be a second entry here, and the same one in the workspace. */
  function refuseOtherSpelling(path: string): void {
    for (let at = path; look(at).kind === "missing"; at = parentOf(at)) {
      const above = at.slice(0, at.lastIndexOf("/") + 1);
      const isAlike = (name: string) => (above + name).toLowerCase() === at.toLowerCase();
      const [there] = list(parentOf(at), isAlike);
      if (there !== undefined)
        throw new ViewFault("exists", path, `this file system has ${above}${there} for ${at}`);
    }
  }

  function keepBase(path: string, known: StagedBase, base: Identity): void {
    known.hash = hashBase(path, base);
    const fits = base.size <= KEPT_BYTES && keptBytes + base.size <= KEPT_BYTES_OF_JOB;
    if (base.kind !== "file" || known.hash === undefined || !fits) return;
    const bytes = inParent(root, path, (folder, name) => readRegular(`${folder}/${name}`, path));
    if (!sameUntouched(identify(root, path), base)) return;
    known.bytes = bytes;
    keptBytes += bytes.length;
  }

  function baseOf(path: string): StagedBase {
    const known = bases.get(path);
    if (known !== undefined) return known;
    for (const folder of foldersAbove(path)) {
      if (folders.has(folder)) break;
      folders.set(folder, identify(root, folder));
    }
    const base: StagedBase = { base: identifySettled(root, path), n: count++ };
    bases.set(path, base);
    return base;
  }

  function makeParents(path: string): void {
    const slash = path.lastIndexOf("/");
    if (slash > 0) makeDirectory(path.slice(0, slash));
  }

  function makeDirectory(path: string): void {
    const found = look(path);
    if (found.kind === "directory") return;
    if (found.kind !== "missing") throw new ViewFault("exists", path, `not a directory: ${path}`);
    makeParents(path);
    const slot = touch(path);
    removeTree(slot);
    mkdirSync(slot);
    entries.set(path, { kind: "directory", slotPath: slot });
  }

  function refuseDirectory(path: string): Entry {
    const found = look(path);
    if (found.kind === "directory") throw new ViewFault("is-directory", path, `is a directory: ${path}`);
    return found;
  }

  function writeFile(path: string, bytes: Uint8Array, mode: number | undefined): void {
    const found = refuseDirectory(path);
    makeParents(path);
    const slot = touch(path);
    const before = bases.get(path)?.base ?? null;
    const keep = mode ?? (found.kind === "file" ? found.mode : undefined);
    const beside = `${slot}.new`;
    rmSync(beside, { force: true });
    const fd = openSync(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, keep ?? 0o666);
    try {
      writeFileSync(fd, bytes);
      if (before?.kind === "file") {
        inParent(root, path, (folder, name) => copyXattrs(`${folder}/${name}`, fd));
        adoptOwner(fd, before);
      }
      if (keep !== undefined) fchmodSync(fd, keep);
      if (entries.get(path)?.kind === "directory") removeTree(slot);
      renameSync(beside, slot);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    } finally {
      closeSync(fd);
    }
    entries.set(path, { kind: "file", slotPath: slot });
  }

  function read(path: string, { noted = true } = {}): Uint8Array {
    const own = entries.get(path);
    if (own?.kind === "file") return readRegular(own.slotPath, path);
    const found = look(path);
    if (found.kind === "missing") throw new ViewFault("missing", path, `no such file or directory: ${path}`);
    if (found.kind === "directory") throw new ViewFault("is-directory", path, `is a directory: ${path}`);
    if (found.kind !== "file") throw new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    // So that a save by another program before the commit is detected.
    if (noted) baseOf(path);
    return inParent(root, path, (folder, name) => readRegular(`${folder}/${name}`, path));
  }

  function makeSymlink(path: string, target: string): void {
    refuseDirectory(path);
    makeParents(path);
    const slot = touch(path);
    removeTree(slot);
    symlinkSync(target, slot);
    entries.set(path, { kind: "symlink", slotPath: slot });
  }

  /** A name that is not text is listed as the decoder shows it: it cannot be touched, but its folder is not empty. */
  function list(path: string, isWanted = (_name: string) => true): string[] {
    const names = new Set<string>();
    const own = entries.get(path);
    const prefix = path === "" ? "" : `${path}/`;
    const isUnsayable = (name: string) =>
      name.includes("\ufffd") && lowerLook(prefix + name).kind === "missing";
    const wasFolder = own?.kind === "directory" && bases.get(path)?.base?.kind === "directory";
    const lower = own === undefined ? look(path) : wasFolder ? lowerLook(path) : null;
    if (lower?.kind === "directory")
      for (const name of inFolder(root, path, (folder) => readdirSync(folder)))
        if (entries.get(prefix + name)?.kind !== "gone" || isUnsayable(name)) names.add(name);
    for (const [staged, { kind }] of entries) {
      if (kind !== "gone" && staged.startsWith(prefix) && !staged.slice(prefix.length).includes("/"))
        names.add(staged.slice(prefix.length));
    }
    return [...names].filter(isWanted).sort();
  }

  function remove(path: string): void {
    const found = look(path);
    if (found.kind === "missing") throw new ViewFault("missing", path, `no such file or directory: ${path}`);
    if (found.kind === "directory" && list(path).length > 0)
      throw new ViewFault("not-empty", path, `directory not empty: ${path}`);
    const slot = touch(path);
    removeTree(slot);
    entries.set(path, { kind: "gone" });
  }

  function copy(from: string, to: string): void {
    const found = look(from);
    if (found.kind === "symlink") makeSymlink(to, found.target);
    else writeFile(to, read(from), found.kind === "file" ? found.mode : undefined);
  }

  const guarded =
    <A extends unknown[], T>(use: (path: string, ...rest: A) => T) =>
    (path: string, ...rest: A): T => {
      try {
        return use(path, ...rest);
      } catch (error) {
        throw toViewFault(error, path);
      }
    };

  return {
    look: guarded(look),
    read: guarded((path: string) => read(path)),
    peek: guarded((path: string) => read(path, { noted: false })),
    write: guarded((path: string, bytes: Uint8Array, mode?: number) => {
      refuseShut(path, look(path).kind === "file");
      writeFile(path, bytes, mode);
    }),
    makeSymlink: guarded((path: string, target: string) => {
      refuseShut(path, false);
      makeSymlink(path, target);
    }),
    makeDirectory: guarded((path: string) => {
      if (look(path).kind === "missing") refuseShut(path, false);
      makeDirectory(path);
    }),
    remove: guarded((path: string) => {
      if (look(path).kind !== "missing") refuseShut(path, false);
      remove(path);
    }),
    rename: guarded((from: string, to: string) => {
      if (staysInPlace(from, to, look(from))) return;
      const there = look(to);
      if (there.kind === "directory" || (there.kind !== "missing" && look(from).kind === "directory")) {
        throw new ViewFault("exists", to, `already exists: ${to}`);
      }
      refuseUnmovable(from);
      for (const path of [from, to]) refuseShut(path, false);
      refuseShutFolder(from, to);
      moveTree(from, to);
    }),
    copy: guarded((from: string, to: string) => {
      if (from === to && look(from).kind === "file") return;
      if (look(from).kind !== "missing") refuseShut(to, false);
      copy(from, to);
    }),
    list: guarded((path: string) => list(path)),
    staged() {
      const out = new Map<string, StagedBase & { slotPath: string | null }>();
      for (const [path, entry] of entries) {
        const known = bases.get(path) as StagedBase;
        out.set(path, { ...known, slotPath: entry.kind === "gone" ? null : entry.slotPath });
      }
      return out;
    },
    folderBase: (path) => {
      const base = bases.get(path)?.base ?? folders.get(path) ?? null;
      return base?.kind === "directory" ? base : null;
    },
    takeTouched() {
      const now = touched;
      touched = new Map();
      return now;
    },
    forget: (path) => void entries.delete(path),
    reset(path) {
      entries.delete(path);
      bases.delete(path);
    },
    adopt(path, base, theirs, bytes) {
      const known = bases.get(path);
      if (known === undefined) return;
      const own = look(path);
      bases.set(path, { base, n: known.n, hash: hashBase(path, base), bytes: theirs });
      // A mode that the job did not change is the workspace's.
      const isOwn = own.kind !== "file" || own.mode !== known.base?.mode;
      writeFile(path, bytes, isOwn ? undefined : base.mode);
    },
  };
}

const LONGEST_NAME_BYTES = 255;

/** A slot takes any path; the workspace would not. */
function refuseUnusable(path: string): void {
  for (const name of path.split("/")) {
    if (name === "" || name === "." || name === "..")
      throw new ViewFault("missing", path, `no such file or directory: ${path}`);
    if (Buffer.byteLength(name) > LONGEST_NAME_BYTES)
      throw new ViewFault("name-too-long", path, `file name too long: ${path.slice(0, 80)}…`);
  }
}
