import type { SecureTool } from "./create-secure-tool.ts";
import { applyPatch } from "./edit/apply_patch/tool.ts";
import { textEditor } from "./edit/text-editor/tool.ts";
import { writeFile } from "./edit/write-file/tool.ts";
import { undoJob } from "./jobs/undo-job/tool.ts";
import { explainLine } from "./read/explain-line/tool.ts";
import { gitStatusSummary } from "./read/git-status-summary/tool.ts";
import { readFile } from "./read/read-file/tool.ts";
import { search } from "./read/search/tool.ts";
import { tree } from "./read/tree/tool.ts";
import { executeCommand } from "./run/execute-command/tool.ts";

/** Every tool, one line each. */
export const ToolCatalog = {
  apply_patch: applyPatch,
  text_editor: textEditor,
  execute_command: executeCommand,
  read_file: readFile,
  write_file: writeFile,
  tree,
  search,
  git_status_summary: gitStatusSummary,
  explain_line: explainLine,
  undo_job: undoJob,
} as const;

export type ToolName = keyof typeof ToolCatalog;

export const ALL_TOOLS: readonly SecureTool[] = Object.values(ToolCatalog) as unknown as SecureTool[];

export function findTool(name: string): SecureTool | undefined {
  return ALL_TOOLS.find((tool) => tool.name === name || tool.aliases.includes(name));
}
