import type { WorkspaceFiles } from "../../application/ports/workspace-files.ts";
import { createIgnoreMatcher, type IgnoreMatcher } from "../../domain/policy/ignored.ts";

const LONGEST_IGNORE_FILE = 1024 ** 2;

/** What listings and searches of a workspace leave out. */
export function readIgnoredPaths(
  files: WorkspaceFiles,
  options: { readonly includeIgnored: boolean },
): IgnoreMatcher {
  return createIgnoreMatcher({
    ...options,
    read(path) {
      try {
        if (files.look(path).kind !== "file") return null;
        return Buffer.from(files.readPart(path, 0, LONGEST_IGNORE_FILE)).toString("utf8");
      } catch {
        return null;
      }
    },
  });
}
