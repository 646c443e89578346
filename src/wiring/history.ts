import { join } from "node:path";
import { toResult } from "../application/history/compare.ts";
import type { OpenedFigures, OpenedHistory } from "../application/ports/history-opened.ts";
import type { NotOpened, Opening, OpenOptions, Workspace } from "../application/ports/jobs-workspace.ts";
import type { ComparisonReader } from "../application/ports/web.ts";
import { formatDayIn } from "../domain/platform/days.ts";
import { createCompareStore } from "../infrastructure/history/compare-store.ts";
import { blameLine, createAskGit } from "../infrastructure/history/git-log.ts";
import { openJobStack } from "../infrastructure/history/job-stack.ts";
import { createUsageStore } from "../infrastructure/models/usage-store.ts";
import { type Environment, openServices } from "./services.ts";
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

export async function openFigures(
  env: Environment,
  options: OpenOptions,
): Promise<Opening<{ readonly figures: OpenedFigures }>> {
  const opened = await openWorkspace(env, options);
  const services = await openServices(env, options);
  if (!opened.ok || !services.ok) return opened.ok ? (services as NotOpened) : opened;
  const store = await services.openStore();
  if (!store.ok) return store;
  const { archive } = opened.workspace;
  const { readFigures } = await import("../application/history/work-figures.ts");
  const sources = {
    usage: createUsageStore(store.db),
    jobs: archive.list(),
    journalOf: archive.events,
    dayOf: (at: Date) => formatDayIn(services.config.session.timezone, at),
    now: services.now(),
  };
  const figures = {
    readFigures: (days: number) => readFigures(sources, days),
    close: () => store.db.destroy(),
  };
  return { ...opened, figures };
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
