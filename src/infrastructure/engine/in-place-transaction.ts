import type { Transaction } from "../../application/ports/jobs-transaction.ts";
import type { Change } from "../../domain/jobs/result.ts";
import { createWorkspaceFiles } from "./folder-files.ts";
import { createFolderView } from "./folder-view.ts";
import { toStanding } from "./standing.ts";
import { takeStamp } from "./fs-stamp.ts";
import { type JobFolder, writePlan } from "./job-folder.ts";

/** `worker.transaction: none`: the job works on the workspace itself; nothing is staged and nothing can be undone. */
export function createInPlaceTransaction(workspace: string, folder: JobFolder): Transaction {
  const stamp = takeStamp(`${folder.path}/stamp`);
  const touched = new Map<string, Change>();
  const all = new Map<string, Change>();
  const view = createFolderView(workspace, (path) => touched.set(path, { path, kind: "modified" }));
  return {
    kind: "none",
    view,
    directory: workspace,
    environment: {},
    takeChanges() {
      const changes = [...touched.values()].map(
        ({ path }): Change => ({ path, kind: view.look(path).kind === "missing" ? "deleted" : "modified" }),
      );
      for (const change of changes) all.set(change.path, change);
      touched.clear();
      return changes;
    },
    revert: () => {},
    rewrite: () => {},
    look: (path, when) => (when === "before" ? null : toStanding(view.look(path))),
    original: () => null,
    current: (path) => (view.look(path).kind === "file" ? view.read(path) : null),
    repository: null,
    layers: {
      rest: async () => {},
      wake: async () => null,
      changes: () => [...all.values()],
      files: createWorkspaceFiles(workspace),
    },
    seal: async () => {
      writePlan(folder, { roots: [workspace], stamp: String(stamp), ops: [] });
      return { changes: [...all.values()], outside: [], notes: [] };
    },
    discard: async () => {},
  };
}
