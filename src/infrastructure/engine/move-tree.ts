import { type View, ViewFault } from "../../application/ports/view.ts";

export type MovableView = Pick<View, "look" | "list" | "copy" | "remove" | "makeDirectory">;

/** A folder moves whole or not at all. */
export function refuseUnmovable(view: MovableView, from: string): void {
  const found = view.look(from);
  if (found.kind === "directory")
    for (const name of view.list(from)) refuseUnmovable(view, `${from}/${name}`);
  else if (found.kind === "missing" && !from.includes("\ufffd"))
    throw new ViewFault("missing", from, `no such file or directory: ${from}`);
  else if (found.kind === "missing" || found.kind === "other")
    throw new ViewFault("not-a-file", from, `cannot be moved: ${from}`);
}

/** Moves by copying and removing, entry by entry; `keepMode` gives a new folder the mode of the old one. */
export function moveTree(
  view: MovableView,
  from: string,
  to: string,
  keepMode: (folder: string, mode: number) => void,
): void {
  const found = view.look(from);
  if (found.kind !== "directory") {
    view.copy(from, to);
    view.remove(from);
    return;
  }
  view.makeDirectory(to);
  for (const name of view.list(from)) moveTree(view, `${from}/${name}`, `${to}/${name}`, keepMode);
  keepMode(to, found.mode);
  view.remove(from);
}
