import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { inParent } from "./anchor.ts";
import { identify, isAbsence } from "./entry-identity.ts";
import { makeParents } from "./make-parents.ts";
import { removeTree } from "./remove-tree.ts";
import { readNoFollow } from "./content.ts";
import type { LayeredPath } from "./current-place.ts";
import type { Call } from "./frames.ts";

/** Has the executor put a path back to what stands in the real workspace. */
export function restoreThrough(send: Call, absolute: string): void {
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  const parents = stats === undefined ? [] : parentModes(absolute);
  const call = (head: Readonly<Record<string, unknown>>, body?: Uint8Array) =>
    send({ ...head, parents }, body);
  if (stats?.isFile()) {
    const { mode, atimeMs, mtimeMs } = stats;
    call(
      { op: "restore", path: absolute, kind: "file", mode: mode & 0o7777, atimeMs, mtimeMs },
      readNoFollow(absolute),
    );
  } else if (stats?.isSymbolicLink())
    call({ op: "restore", path: absolute, kind: "symlink", target: readlinkSync(absolute) });
  else if (stats?.isDirectory())
    call({ op: "restore", path: absolute, kind: "directory", mode: stats.mode & 0o7777 });
  else call({ op: "restore", path: absolute, kind: "missing" });
}

/** Has the executor give a file of the view other bytes, where it is still a file. */
export function rewriteThrough(
  send: Call,
  absolute: string,
  bytes: Uint8Array,
  place: LayeredPath | null,
): void {
  const now = place === null ? null : identify(place.root, place.below);
  if (now?.kind !== "file") return;
  const mtimeMs = Number(BigInt(now.mtime) / 1_000_000n);
  const head = { kind: "file", mode: now.mode, atimeMs: mtimeMs, mtimeMs, parents: [] };
  send({ op: "restore", path: absolute, ...head }, bytes);
}

/** The modes of the folders on the way to a path that stands, outermost first. */
function parentModes(absolute: string): number[] {
  const modes: number[] = [];
  for (let at = dirname(absolute); at !== "/"; at = dirname(at)) modes.unshift(lstatSync(at).mode & 0o7777);
  return modes;
}

/** The executor's side. Parents that went or were replaced are made again; no symlink is followed. */
export function restoreHere(head: Readonly<Record<string, unknown>>, body: Uint8Array): void {
  const path = String(head.path).slice(1);
  if (head.kind === "missing") {
    removeHere(path);
    return;
  }
  const modes = head.parents as readonly (number | undefined)[];
  makeParents("/", path, (parent) => modes[parent.split("/").length - 1]);
  inParent("/", path, (folder, name) => {
    const at = `${folder}/${name}`;
    if (head.kind === "directory") {
      if (!lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) {
        rmSync(at, { recursive: true, force: true });
        mkdirSync(at);
      }
      chmodSync(at, Number(head.mode));
      return;
    }
    rmSync(at, { recursive: true, force: true });
    if (head.kind === "symlink") symlinkSync(String(head.target), at);
    if (head.kind !== "file") return;
    writeFileSync(at, body, { flag: "wx", mode: Number(head.mode) });
    chmodSync(at, Number(head.mode));
    utimesSync(at, Number(head.atimeMs) / 1000, Number(head.mtimeMs) / 1000);
  });
}

/** A parent that is no folder of the view holds nothing to remove. */
function removeHere(path: string): void {
  try {
    inParent("/", path, (folder, name) => removeTree(`${folder}/${name}`));
  } catch (error) {
    if (!isAbsence(error) && (error as { code?: string }).code !== "ELOOP") throw error;
  }
}
