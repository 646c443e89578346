import type { TakenEdit } from "../ports/jobs-transaction.ts";
import type { View } from "../ports/view.ts";

/** Makes edits of one view in another that shows the same workspace. */
export function applyEdits(view: View, edits: readonly TakenEdit[]): void {
  const byDepth = [...edits].sort((x, y) => x.path.length - y.path.length);
  for (const { path, entry } of byDepth.toReversed()) {
    const { kind } = view.look(path);
    if (kind !== "missing" && kind !== entry.kind) view.remove(path);
  }
  for (const { path, entry, bytes } of byDepth) {
    switch (entry.kind) {
      case "directory":
        view.makeDirectory(path);
        break;
      case "file":
        view.write(path, bytes ?? new Uint8Array(), entry.mode);
        break;
      case "symlink":
        if (view.look(path).kind !== "missing") view.remove(path);
        view.makeSymlink(path, entry.target);
        break;
      case "missing":
      case "other":
        break;
    }
  }
}
