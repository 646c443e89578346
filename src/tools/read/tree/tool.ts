import { z } from "zod";
import { ViewFault } from "../../../application/ports/platform-view.ts";
import { createSecureTool } from "../../create-secure-tool.ts";
import { type ResolvedPath, resolvePathArgument } from "../../resolved-path.ts";
import { ToolError } from "../../tool-result.ts";
import { readIgnoredPaths } from "../project-files.ts";

export interface TreeOptions {
  readonly levels: number;
  readonly mostEntries: number;
  readonly includeIgnored: boolean;
}

export interface Tree {
  /** Indented by level; folders end in `/`, links show where they lead. */
  readonly lines: readonly string[];
  /** Entries were left out past the limit. */
  readonly more: boolean;
}

/** A folder's entries in order, links not followed. */
export function walkTree({ workspace: { files }, path: top }: ResolvedPath, options: TreeOptions): Tree {
  const ignored = readIgnoredPaths(files, options);
  const lines: string[] = [];
  let more = false;

  function visit(folder: string, level: number): void {
    for (const name of namesIn(folder)) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const entry = files.look(path);
      if (entry.kind === "missing" || ignored.has(path, entry.kind === "directory")) continue;
      if (lines.length >= options.mostEntries) {
        more = true;
        return;
      }
      const indent = "  ".repeat(level);
      if (entry.kind === "directory") {
        lines.push(`${indent}${name}/`);
        if (level + 1 < options.levels) visit(path, level + 1);
      } else lines.push(`${indent}${name}${entry.kind === "symlink" ? ` -> ${entry.target}` : ""}`);
      if (more) return;
    }
  }
  /** A folder that may not be read, or is just gone, is shown without its entries. */
  function namesIn(folder: string): readonly string[] {
    try {
      return files.list(folder);
    } catch (error) {
      if (error instanceof ViewFault && folder !== top) return [];
      throw error;
    }
  }
  visit(top, 0);
  return { lines, more };
}

const input = z.strictObject({
  path: z.string().optional().describe("Folder to list; by default the workspace"),
  depth: z.int().min(1).max(20).optional().describe("How many levels deep; 3 by default"),
  max_entries: z.int().min(1).max(20_000).optional().describe("Entries returned at most; 1000 by default"),
  include_ignored: z.boolean().optional().describe("Also list what .gitignore leaves out"),
});

const output = z.object({
  path: z.string(),
  tree: z.string(),
  entries: z.int(),
  truncated: z.boolean(),
});

export const tree = createSecureTool({
  name: "tree",
  title: "List a folder",
  description: "Lists a folder as a tree. Leaves out .git and files ignored by .gitignore.",
  input,
  output,
  access: "read",
  paths: ["path"],
  async run({ args, place, context }) {
    const at = args.path ? place("path") : await resolvePathArgument(context, ".");
    if (at.entry.kind !== "directory")
      throw at.entry.kind === "missing"
        ? new ToolError("NOT_FOUND", `no such folder: ${at.given}`)
        : new ToolError("NOT_A_DIRECTORY", `not a folder: ${at.given}`);
    const mostEntries = args.max_entries ?? 1000;
    const { lines, more } = walkTree(at, {
      levels: args.depth ?? 3,
      mostEntries,
      includeIgnored: args.include_ignored ?? false,
    });
    return {
      data: { path: at.path, tree: lines.join("\n"), entries: lines.length, truncated: more },
      notes: more
        ? [`output capped at ${mostEntries} entries; list a folder below, lower depth, or raise max_entries`]
        : [],
    };
  },
});
