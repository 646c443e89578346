import { writeFile } from "./edit/write-file/tool.ts";
import { readFile } from "./read/read-file/tool.ts";

/** Every tool, one line each. */
export const ToolCatalog = {
  read_file: readFile,
  write_file: writeFile,
} as const;

export type ToolName = keyof typeof ToolCatalog;
