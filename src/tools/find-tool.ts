import { ToolCatalog } from "./catalog.ts";
import type { SecureTool } from "./create-secure-tool.ts";

/** The catalogue without the particulars of each tool. */
export const ALL_TOOLS: readonly SecureTool[] = Object.values(ToolCatalog) as unknown as SecureTool[];

/** By its name or an alias. */
export function findTool(name: string): SecureTool | undefined {
  return ALL_TOOLS.find((tool) => tool.name === name || tool.aliases.includes(name));
}
