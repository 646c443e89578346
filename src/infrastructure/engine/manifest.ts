import { lstatSync } from "node:fs";
import { type Identity, identityOf } from "./entry-identity.ts";
import { walkFolder } from "./walk-folder.ts";

/** What a root held at begin. */
export interface Manifest {
  readonly entries: Map<string, Identity>;
  /** Paths that could not be looked into (permissions, another file system); a job neither sees nor changes them. */
  readonly hidden: Set<string>;
  /** Whether there are names that are no UTF-8. */
  readonly hasBytes: boolean;
  readonly bytes: number;
  /** The ctime of the root itself. */
  readonly top: string;
}

export function takeManifest(root: string, leaveOut: (path: string) => boolean): Manifest {
  const entries = new Map<string, Identity>();
  const hidden = new Set<string>();
  let bytes = 0;
  const top = String(lstatSync(root, { bigint: true }).ctimeNs);
  const enter = (path: string) => !leaveOut(path);
  let hasBytes = false;
  const unreadable = (path: string) => void hidden.add(path);
  for (const { path, stats, noText } of walkFolder(root, { enter, unreadable, noText: true })) {
    if (stats.isFile()) bytes += Number(stats.blocks) * 512;
    if (noText) {
      hasBytes = true;
      continue;
    }
    entries.set(path, identityOf(stats));
  }
  return { entries, hidden, bytes, top, hasBytes };
}

export function isHidden(hidden: ReadonlySet<string>, path: string): boolean {
  if (hidden.size === 0) return false;
  for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/"))))
    if (hidden.has(at)) return true;
  return false;
}

/** The folders above hidden paths: they cannot go as a whole, because nobody saw all that is in them. */
export function foldersAbove(hidden: ReadonlySet<string>): Set<string> {
  const above = new Set<string>();
  for (const path of hidden)
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
      above.add(path.slice(0, slash));
  return above;
}
