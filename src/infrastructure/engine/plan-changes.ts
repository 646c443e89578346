import type { Change } from "../../domain/jobs/result.ts";
import { pathBelow } from "./path-below.ts";
import type { Op } from "./job-folder.ts";

/** The change set a person reads: paths relative to the workspace, git's object store left out. */
export function toChanges(ops: readonly Op[], roots: readonly string[], workspace: string): Change[] {
  const changes: Change[] = [];
  for (const op of ops) {
    if (op.area === "object") continue;
    const path = pathBelow(workspace, `${roots[op.root]}/${op.path}`);
    changes.push({ path, kind: op.a === null ? "added" : op.b === null ? "deleted" : "modified" });
  }
  return changes.sort((x, y) => (x.path < y.path ? -1 : 1));
}
