import type { Entry, View } from "../ports/view.ts";

interface Kept {
  readonly path: string;
  readonly entry: Entry;
  readonly bytes: Uint8Array | null;
}

/** Runs several writes of one command; when one fails, the view is again as it was before the first. */
export function allOrNothing(view: View, paths: readonly string[], write: () => void): void {
  const kept = paths.map((path): Kept => {
    const entry = view.look(path);
    return { path, entry, bytes: entry.kind === "file" && paths.length > 1 ? view.read(path) : null };
  });
  const made = missingParents(view, paths);
  try {
    write();
  } catch (error) {
    const several = paths.length > 1;
    for (const { path, entry } of several ? kept.toReversed() : [])
      if (entry.kind === "missing" && view.look(path).kind !== "missing") view.remove(path);
    for (const folder of made) if (view.look(folder).kind === "directory") view.remove(folder);
    if (several) for (const one of kept.toReversed()) restore(view, one);
    throw error;
  }
}

function restore(view: View, { path, entry, bytes }: Kept): void {
  const now = view.look(path);
  if (entry.kind === "file" && bytes !== null) view.write(path, bytes, entry.mode);
  else if (entry.kind === "directory" && now.kind !== "directory") {
    if (now.kind !== "missing") view.remove(path);
    view.makeDirectory(path);
  } else if (entry.kind === "symlink" && (now.kind !== "symlink" || now.target !== entry.target)) {
    if (now.kind !== "missing") view.remove(path);
    view.makeSymlink(path, entry.target);
  }
}

/** Folders that the writes will have to make, also where a file or a link stands now; deepest first. */
function missingParents(view: View, paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      const folder = path.slice(0, slash);
      if (folders.has(folder) || view.look(folder).kind === "directory") break;
      folders.add(folder);
    }
  }
  return [...folders].sort((x, y) => y.length - x.length);
}
