import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { type View, ViewFault } from "../../src/application/ports/platform-view.ts";
import { setXattrFd } from "../../src/infrastructure/platform/xattr.ts";

/** A small pool of names, so that random commands meet. */
const NAMES = ["a", "b", "c", "dir", "ü", "sp ace", ".hid"];
const name = fc.constantFrom(...NAMES);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const content = fc.string({ unit: "binary", maxLength: 20 });

export type Seed =
  | { readonly kind: "file"; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly kind: "folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export const seeds: fc.Arbitrary<Seed[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("file" as const),
      path,
      content,
      mode: fc.constantFrom(0o644, 0o600, 0o755, 0o444),
    }),
    fc.record({ kind: fc.constant("folder" as const), path, mode: fc.constantFrom(0o755, 0o700, 0o555) }),
    fc.record({ kind: fc.constant("link" as const), path, target: fc.oneof(path, fc.constant("../..")) }),
  ),
  { maxLength: 12 },
);

/** Access lists (one more user, a mask) and attributes of the user's own, on some of the files and folders. */
export function adorn(root: string, paths: readonly string[]): void {
  for (const [index, path] of paths.entries()) {
    const at = join(root, path);
    const stats = standing(root, at);
    if (stats === null) continue;
    const mode = stats.mode & 0o7777;
    chmodSync(at, mode | 0o700);
    const descriptor = openSync(at, "r");
    setXattrFd(descriptor, "system.posix_acl_access", accessList(mode));
    if (index % 2 === 0) setXattrFd(descriptor, "user.note", Buffer.from(path));
    closeSync(descriptor);
    // By now the bits of the group are the list's mask.
    chmodSync(at, mode);
  }
}

/** A file or folder that no link leads to. */
function standing(root: string, at: string): Stats | null {
  try {
    const stats = lstatSync(at);
    return isBelow(root, dirname(at)) && (stats.isFile() || stats.isDirectory()) ? stats : null;
  } catch {
    return null;
  }
}

/** As the kernel has it: a version, then tag, permissions and id of each entry. */
function accessList(mode: number): Uint8Array {
  const entries = [
    [1, (mode >> 6) & 7, 0xffffffff],
    [2, 4, 12_345],
    [4, (mode >> 3) & 7, 0xffffffff],
    [16, (mode >> 3) & 7, 0xffffffff],
    [32, mode & 7, 0xffffffff],
  ] as const;
  const bytes = Buffer.alloc(4 + 8 * entries.length);
  bytes.writeUInt32LE(2, 0);
  for (const [i, [tag, permissions, id]] of entries.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * i);
    bytes.writeUInt16LE(permissions, 6 + 8 * i);
    bytes.writeUInt32LE(id, 8 + 8 * i);
  }
  return bytes;
}

export const somePaths: fc.Arbitrary<string[]> = fc.array(path, { maxLength: 6 });

/** Plants what fits; a seed that meets another in its way is left out. */
export function plant(root: string, all: readonly Seed[]): void {
  for (const seed of all) {
    const at = join(root, seed.path);
    try {
      if (lstatSync(at, { throwIfNoEntry: false })) continue;
      if (!makeBelow(root, dirname(at))) continue;
      if (seed.kind === "file") writeFileSync(at, seed.content, { mode: seed.mode });
      else if (seed.kind === "link") symlinkSync(seed.target, at);
      else mkdirSync(at);
    } catch {
      // A parent is a file or a dangling link.
    }
  }
  for (const seed of all) {
    const at = join(root, seed.path);
    try {
      const planted = lstatSync(at);
      if (seed.kind === "file" && planted.isFile()) chmodSync(at, seed.mode);
      if (seed.kind === "folder" && planted.isDirectory()) chmodSync(at, seed.mode);
    } catch {
      // It was not planted.
    }
  }
}

/** Makes a folder, unless the way to it leads through a link: that may lead out of the tree. */
function makeBelow(root: string, folder: string): boolean {
  if (folder === root) return true;
  if (!makeBelow(root, dirname(folder))) return false;
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) mkdirSync(folder);
  return found === undefined || found.isDirectory();
}

/** No component on the way is a link: the tree stays a tree. */
function isBelow(root: string, folder: string): boolean {
  for (let at = folder; at !== root; at = dirname(at)) if (lstatSync(at).isSymbolicLink()) return false;
  return true;
}

export type Edit =
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "mkdir"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | { readonly kind: "rename" | "copy"; readonly path: string; readonly to: string };

export const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("write" as const), path, content }),
    fc.record({ kind: fc.constant("remove" as const), path }),
    fc.record({ kind: fc.constant("mkdir" as const), path }),
    fc.record({ kind: fc.constant("link" as const), path, target: path }),
    fc.record({ kind: fc.constantFrom("rename" as const, "copy" as const), path, to: path }),
  ),
  { minLength: 1, maxLength: 10 },
);

/** Carries out an edit as far as the view lets it. */
export function carryOut(view: View, edit: Edit): void {
  try {
    if (edit.kind === "write") view.write(edit.path, Buffer.from(edit.content));
    else if (edit.kind === "remove") view.remove(edit.path);
    else if (edit.kind === "mkdir") view.makeDirectory(edit.path);
    else if (edit.kind === "link") view.makeSymlink(edit.path, edit.target);
    else view[edit.kind](edit.path, edit.to);
  } catch (error) {
    if (!(error instanceof ViewFault)) throw error;
  }
}

/** One line of shell; each may fail, as a job's lines do. */
export const shellLine: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(
      "mv -- $1 $2",
      "mv -T -- $1 $2",
      "rm -rf -- $1",
      "rm -f -- $1",
      "chmod 755 $1",
      "test -d $1 || chmod 600 $1",
      "chmod 555 $1",
      "ln -sfn -- $1 $2",
      "ln -f -- $1 $2",
      "mkdir -p -- $1",
      "test -p $1 || echo more >>$1",
      "test -p $1 || echo fresh >$1",
      "truncate -s 3 -- $1",
      "truncate -s 0 -- $1",
      "touch -- $1",
      // Into itself cp copies what it reads before it notices, and that is a matter of the order in the folder.
      'case "$(realpath -m -- $2)/" in "$(realpath -m -- $1)/"*) ;; *) cp -a -- $1 $2 ;; esac',
      "mkfifo $1",
    ),
    path,
    path,
  )
  .map(([line, one, two]) => line.replaceAll("$1", `'./${one}'`).replaceAll("$2", `'./${two}'`));
