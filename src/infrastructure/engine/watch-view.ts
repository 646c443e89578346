import type { View } from "../../application/ports/view.ts";

/** A view that tells which paths an operation is about to touch, parents that it may make included. */
export function watchView(view: View, touching: (path: string) => void): View {
  const withParents = (path: string) => {
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1))
      touching(path.slice(0, slash));
    touching(path);
  };
  return {
    ...view,
    write(path, bytes, mode) {
      withParents(path);
      view.write(path, bytes, mode);
    },
    makeSymlink(path, target) {
      withParents(path);
      view.makeSymlink(path, target);
    },
    makeDirectory(path) {
      withParents(path);
      view.makeDirectory(path);
    },
    remove(path) {
      touching(path);
      view.remove(path);
    },
    rename(from, to) {
      touching(from);
      withParents(to);
      view.rename(from, to);
    },
    copy(from, to) {
      withParents(to);
      view.copy(from, to);
    },
  };
}
