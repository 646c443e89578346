import type { PatchCommand } from "../patch/command.ts";
import { editPaths } from "../patch/plan-edit.ts";

/** The paths that a patch names. What its programs touch shows only when they ran. */
export function affectedFiles(commands: readonly PatchCommand[]): string[] {
  const paths = commands.flatMap(({ type, action, target, content, edit }) => {
    if (type !== "file_edit") return [];
    if (edit !== undefined) return editPaths(edit);
    return action === "rename" || action === "copy" ? [target, content] : [target];
  });
  return [...new Set(paths)];
}
