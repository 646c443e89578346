import type { View } from "../../application/ports/view.ts";

/** A view that tells which paths its own operations touched. */
export function watchView(view: View, touched: (path: string) => void): View {
  return {
    ...view,
    write(path, bytes, mode) {
      view.write(path, bytes, mode);
      parentsOf(path).concat(path).forEach(touched);
    },
    makeSymlink(path, target) {
      view.makeSymlink(path, target);
      parentsOf(path).concat(path).forEach(touched);
    },
    makeDirectory(path) {
      view.makeDirectory(path);
      parentsOf(path).concat(path).forEach(touched);
    },
    remove(path) {
      view.remove(path);
      touched(path);
    },
    rename(from, to) {
      view.rename(from, to);
      parentsOf(to).concat(from, to).forEach(touched);
    },
    copy(from, to) {
      view.copy(from, to);
      parentsOf(to).concat(to).forEach(touched);
    },
  };
}

function parentsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}
