import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OwnerNames } from "../engine/owner-name.ts";

const PREFIX = "publish-";
const OWNER = "picoclaw-owner";
/** A folder that has no owner yet is somebody's who just made it. */
const YOUNG_MS = 10 * 60_000;

/** A private folder for one publishing, which says whose it is before anything secret is in it. */
export function makePublishFolder(below: string, owner: string): string {
  mkdirSync(below, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(below, PREFIX));
  writeFileSync(join(folder, OWNER), owner, { mode: 0o600 });
  return folder;
}

/** Removes what processes left that were killed while they published: their token lies there. */
export function sweepPublishFolders(
  below: string,
  { isGone, now }: Pick<OwnerNames, "isGone"> & { readonly now: () => Date },
): void {
  for (const name of listFolderNames(below)) {
    const folder = join(below, name);
    const owner = readFolderOwner(folder);
    const old = () =>
      now().getTime() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > YOUNG_MS;
    if (owner === null ? old() : isGone(owner)) rmSync(folder, { recursive: true, force: true });
  }
}

function listFolderNames(below: string): string[] {
  try {
    return readdirSync(below).filter((name) => name.startsWith(PREFIX));
  } catch {
    return [];
  }
}

function readFolderOwner(folder: string): string | null {
  try {
    return readFileSync(join(folder, OWNER), "utf8");
  } catch {
    return null;
  }
}
