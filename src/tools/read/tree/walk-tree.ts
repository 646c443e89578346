import { ViewFault } from "../../../application/ports/view.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { readIgnoredPaths } from "../ignored.ts";

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
