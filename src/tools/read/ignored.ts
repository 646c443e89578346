import type { WorkspaceFiles } from "../../application/ports/workspace-files.ts";
import { createIgnored, type Ignored } from "../../domain/policy/ignored.ts";

const LONGEST = 1024 ** 2;

/** What listings and searches of a workspace leave out. */
export function ignoredIn(files: WorkspaceFiles, options: { readonly includeIgnored: boolean }): Ignored {
  return createIgnored({
    ...options,
    read(path) {
      try {
        if (files.look(path).kind !== "file") return null;
        return Buffer.from(files.readPart(path, 0, LONGEST)).toString("utf8");
      } catch {
        return null;
      }
    },
  });
}
