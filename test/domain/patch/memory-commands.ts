import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";
import { formatEditReport, planEdit } from "../../../src/domain/patch/plan-edit.ts";
import { type MemoryTree, planOptions } from "./memory-tree.ts";

/** Runs the file edits of a patch in memory, going on after an error; returns what failed. */
export function runCommands(tree: MemoryTree, commands: readonly PatchCommand[]): string[] {
  const errors: string[] = [];
  for (const command of commands) {
    const found = tree.look(command.target);
    if (command.edit !== undefined) {
      const plan = planEdit(command.edit, tree, planOptions);
      if (plan.ok) tree.write(plan.writes);
      else errors.push(formatEditReport(plan.reports));
    } else if (command.action === "delete") {
      if (found.kind === "file") tree.write([{ kind: "delete", path: command.target }]);
      else errors.push(`${command.target}: cannot be deleted`);
    } else tree.put(command.target, command.content);
  }
  return errors;
}
