import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { inParent } from "./anchor.ts";
import { removeTree } from "./remove-tree.ts";
import { type CopyLook, FOLDER, lookAtCopies } from "./copy-look.ts";
import { type CopiedRoot, copyEntry, restoreEntry } from "./copied-roots.ts";

export interface Traces {
  readonly copies: readonly CopiedRoot[];
  /** The copies before anything ran in them. */
  readonly before: CopyLook;
  /** Which of them the job itself made or changed; the rest is as the workspace has it. */
  readonly isOwn: (key: string) => boolean;
  /** An empty folder for the time between. */
  readonly into: string;
}

/** Remembers copies as they are; the returned function takes back whatever was done in them since. */
export function rememberCopies({ copies, before, isOwn, into }: Traces): () => void {
  const saved = new Map<string, string>();
  const modes = new Map<string, number>();
  for (const [key, ctime] of before) {
    if (!isOwn(key)) continue;
    const { copy, path } = copiedPathOf(copies, key);
    if (ctime === FOLDER) {
      modes.set(key, lstatSync(join(copy, path)).mode & 0o7777);
      continue;
    }
    const to = join(into, String(saved.size));
    inParent(copy, path, (folder, name) => copyEntry(`${folder}/${name}`, to));
    saved.set(key, to);
  }
  return () => {
    const now = lookAtCopies(copies, before);
    for (const key of [...now.keys()].reverse())
      if (!before.has(key)) removeCopiedPath(copiedPathOf(copies, key));
    for (const [key, ctime] of before) {
      if (now.get(key) === ctime) continue;
      const place = copiedPathOf(copies, key);
      if (ctime === FOLDER) makeFolder(place, modes.get(key));
      else restoreEntry(place, place.path, saved.get(key) ?? join(place.original, place.path));
    }
  };
}

interface CopiedPath extends CopiedRoot {
  readonly path: string;
}

function copiedPathOf(copies: readonly CopiedRoot[], key: string): CopiedPath {
  const colon = key.indexOf(":");
  return { ...(copies[Number(key.slice(0, colon))] as CopiedRoot), path: key.slice(colon + 1) };
}

/** What stands below a folder that goes is gone with it. */
function removeCopiedPath({ copy, path }: CopiedPath): void {
  try {
    inParent(copy, path, (folder, name) => removeTree(`${folder}/${name}`));
  } catch {
    // Its folder went before.
  }
}

function makeFolder({ original, copy, path }: CopiedPath, own: number | undefined): void {
  const mode = own ?? lstatSync(join(original, path), { throwIfNoEntry: false })?.mode ?? 0o755;
  inParent(copy, path, (folder, name) => {
    removeTree(`${folder}/${name}`);
    mkdirSync(`${folder}/${name}`);
    chmodSync(`${folder}/${name}`, mode & 0o7777);
  });
}
