import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inParent } from "./anchor.ts";
import { identifyAt } from "./entry-identity.ts";
import { makeParents } from "./make-parents.ts";
import { removeTree } from "./remove-tree.ts";
import { copyFolder } from "./copy-folder.ts";
import type { Manifest } from "./manifest.ts";

/** One root of the transaction and where its copy stands. */
export interface CopiedRoot {
  readonly original: string;
  readonly copy: string;
}

export type CopyResult =
  | { readonly ok: true; readonly copies: readonly CopiedRoot[] }
  | { readonly ok: false; readonly code: "no-space" | "failed"; readonly message: string };

export interface CopyRequest {
  readonly roots: readonly string[];
  /** What each root held just before; what could not be copied becomes hidden in it. */
  readonly manifests: readonly Manifest[];
  readonly into: string;
  readonly ownFolders: readonly string[];
}

/**
 * Copies each root with everything that belongs to it, sharing blocks where the file system can. What the user may
 * not read is hidden from the job, and so is what the user made while the copy was under way.
 */
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

/** What is not ours to read, cannot be made by this user, or went away meanwhile is no reason to give up. */
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

/**
 * Puts one entry of the workspace in place of what the copy has. Commands of the job may have left links in the copy:
 * none is followed, since this runs outside of their sandbox.
 */
export function restoreEntry({ original, copy }: CopiedRoot, path: string, from: string): void {
  const stands = identifyAt(from) !== null;
  if (stands) makeParents(copy, path, (parent) => lstatSync(join(original, parent)).mode & 0o7777);
  else if (lstatInside(copy, path) === null) return;
  inParent(copy, path, (folder, name) => {
    removeTree(`${folder}/${name}`);
    if (!stands) return;
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
  try {
    return inParent(root, path, (folder, name) => lstatSync(`${folder}/${name}`));
  } catch {
    return null;
  }
}
