import { join } from "node:path";
import { toResult } from "../application/history/compare.ts";
import type { OpenedHistory } from "../application/history/open-history.ts";
import type { Opening, OpenOptions, Workspace } from "../application/ports/jobs-workspace.ts";
import type { ComparisonReader } from "../application/ports/web.ts";
import { createCompareStore } from "../infrastructure/history/compare-store.ts";
import { blameLine, createAskGit } from "../infrastructure/history/git-log.ts";
import { openJobStack } from "../infrastructure/history/job-stack.ts";
import type { Environment } from "./services.ts";
import { openWorkspace } from "./workspace.ts";

/** The history of a workspace that is open. Nothing is read before it is asked for. */
export function createHistory(workspace: Workspace, env: Environment): OpenedHistory["history"] {
  const { root, storage, archive, files } = workspace;
  const git = createAskGit(root, env.PATH ?? "", storage);
  const stack = () => openJobStack({ storage, workspace: root, archive });
  return {
    stack,
    why: () => ({ stack: stack(), archive, files, blame: (path, line) => blameLine(git, path, line) }),
  };
}

export async function openHistory(env: Environment, options: OpenOptions): Promise<Opening<OpenedHistory>> {
  const opened = await openWorkspace(env, options);
  return opened.ok ? { ...opened, history: createHistory(opened.workspace, env) } : opened;
}

/** The comparisons that were played here, for the console. */
export function createComparisonReader({ root, storage }: Workspace, env: Environment): ComparisonReader {
  const store = createCompareStore(
    join(storage, "compare"),
    root,
    createAskGit(root, env.PATH ?? "", storage),
  );
  return {
    list: (limit) =>
      store
        .listRuns()
        .slice(0, limit)
        .flatMap((run) => {
          const plays = store.readPlays(run);
          const contestants = [...new Set(plays.map(({ contestant }) => contestant))].map((name) => ({
            name,
          }));
          return plays.length === 0 ? [] : [toResult(run, "finished", plays, { contestants })];
        }),
  };
}
