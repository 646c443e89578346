import type { PatchCommand } from "./command.ts";

/** What a patch is about to do, counted by kind. A command of an unknown type counts in the total only. */
export interface ExecutionSummary {
  readonly totalCommands: number;
  readonly fileEdits: number;
  readonly shellCommands: number;
  readonly gitOperations: number;
}

export function executionSummary(commands: readonly PatchCommand[]): ExecutionSummary {
  let fileEdits = 0;
  let shellCommands = 0;
  let gitOperations = 0;
  for (const { type } of commands) {
    if (type === "file_edit") fileEdits++;
    else if (type === "shell_command") shellCommands++;
    else if (type === "git_operation") gitOperations++;
  }
  return { totalCommands: commands.length, fileEdits, shellCommands, gitOperations };
}
