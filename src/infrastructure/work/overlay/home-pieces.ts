import { type Dirent, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../transaction/git-roots.ts";

/** How a home is shown to a job. */
export interface HomeShape {
  /** Folders that get a writable layer of their own; the home itself where that is possible. */
  readonly folders: readonly string[];
  /** Shown as they are, read-only, in an otherwise empty home; null where the whole home has a layer. */
  readonly pieces: {
    readonly shown: readonly string[];
    readonly links: readonly { readonly path: string; readonly target: string }[];
  } | null;
}

/**
 * A user cannot lay an overlay over a folder with a mount below it: the kernel would have to show what the mount
 * hides. Such a home is taken apart, folder by folder; what is mounted in it stays read-only.
 */
export function shapeOf(
  home: string,
  mounts: readonly string[],
  secrets: readonly string[],
  uid: number,
): HomeShape {
  const isMounted = (path: string) => mounts.some((mount) => isInside(path, mount));
  if (uid === 0 || !mounts.some((mount) => mount !== home && isInside(home, mount)))
    return { folders: [home], pieces: null };
  const entries = entriesOf(home).filter(({ name }) => !secrets.includes(join(home, name)));
  const paths = (which: (entry: Dirent) => boolean) =>
    entries.filter(which).map(({ name }) => join(home, name));
  return {
    folders: paths((entry) => entry.isDirectory() && !isMounted(join(home, entry.name))),
    pieces: {
      shown: paths((entry) => entry.isFile() || (entry.isDirectory() && isMounted(join(home, entry.name)))),
      links: paths((entry) => entry.isSymbolicLink()).map((path) => ({ path, target: readlinkSync(path) })),
    },
  };
}

function entriesOf(home: string): Dirent[] {
  try {
    return readdirSync(home, { withFileTypes: true }).sort((x, y) => (x.name < y.name ? -1 : 1));
  } catch {
    return [];
  }
}
