import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import { resolvePathArgument } from "../../resolved-path.ts";
import { ToolError } from "../../tool-error.ts";
import { walkTree } from "./walk-tree.ts";

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
  description: "Lists a folder as a tree. Leaves out .git and what .gitignore names.",
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
