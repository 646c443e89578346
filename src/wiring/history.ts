import { join } from "node:path";
import type { Kysely } from "kysely";
import type { ChatDeps } from "../application/chat/chat-turn.ts";
import { toResult } from "../application/history/compare.ts";
import type { FigureScope, OpenedFigures, WorkspaceHistory } from "../application/ports/history-opened.ts";
import type { Opening, OpenOptions, Workspace } from "../application/ports/jobs-workspace.ts";
import type { ComparisonReader } from "../application/ports/web.ts";
import { formatDayIn } from "../domain/platform/days.ts";
import { historyMessagesFor } from "../domain/texts/history.ts";
import { createCompareStore } from "../infrastructure/history/compare-store.ts";
import { blameLine, createAskGit } from "../infrastructure/history/git-log.ts";
import { openJobStack } from "../infrastructure/history/job-stack.ts";
import { createUsageStore } from "../infrastructure/models/usage-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import type { Environment, Services } from "./services.ts";
import { openWorkspace } from "./workspace.ts";

/** The history of a workspace that is open. Nothing is read before it is asked for. */
export function createHistory(workspace: Workspace, env: Environment): WorkspaceHistory {
  const { root, storage, archive, files } = workspace;
  const git = createAskGit(root, env.PATH ?? "", storage);
  const stack = () => openJobStack({ storage, workspace: root, archive });
  return {
    stack,
    why: () => ({ stack: stack(), archive, files, blame: (path, line) => blameLine(git, path, line) }),
  };
}

export async function openHistory(
  env: Environment,
  options: OpenOptions,
): Promise<Opening<{ readonly history: WorkspaceHistory }>> {
  const opened = await openWorkspace(env, options);
  return opened.ok ? { ...opened, history: createHistory(opened.workspace, env) } : opened;
}

export async function openFigures(
  env: Environment,
  options: OpenOptions,
): Promise<Opening<{ readonly figures: OpenedFigures }>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const store = await opened.services.openStore();
  if (!store.ok) return store;
  const { archive } = opened.workspace;
  const read = createReadFigures(opened.services, store.db, archive);
  const readFigures = (days: number) => read({ jobs: archive.list() }, days);
  return { ...opened, figures: { readFigures, close: () => store.db.destroy() } };
}

function createReadFigures({ config, now }: Services, db: Kysely<Database>, archive: Workspace["archive"]) {
  const usage = createUsageStore(db);
  const dayOf = (at: Date) => formatDayIn(config.session.timezone, at);
  return async (of: FigureScope, days: number) =>
    (await import("../application/history/work-figures.ts")).readFigures(
      { ...of, usage, journalOf: archive.events, dayOf, now: now() },
      days,
    );
}

export function createWordFigures(...of: Parameters<typeof createReadFigures>): ChatDeps["figures"] {
  return async (scope, days) => {
    const { MOST_DAYS, readDays, wordFigures } = await import("../adapters/cli/stats.ts");
    const count = readDays(days);
    if (count === null) return [(locale) => historyMessagesFor(locale).statsDays(MOST_DAYS), false];
    const figures = await createReadFigures(...of)(scope, count);
    return [(locale) => wordFigures(historyMessagesFor(locale), figures)];
  };
}

export function createComparisonReader({ root, storage }: Workspace, env: Environment): ComparisonReader {
  const git = createAskGit(root, env.PATH ?? "", storage);
  const { listRuns, readPlays } = createCompareStore(join(storage, "compare"), root, git);
  const read = (run: string) => {
    const plays = readPlays(run);
    const names = new Set(plays.map(({ contestant }) => contestant));
    return toResult(run, "finished", plays, { contestants: [...names].map((name) => ({ name })) });
  };
  const isPlayed = ({ contestants }: ReturnType<typeof read>) => contestants.length > 0;
  return { list: (limit) => listRuns().slice(0, limit).map(read).filter(isPlayed) };
}
