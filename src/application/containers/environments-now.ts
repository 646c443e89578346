import type { EnvironmentReader } from "../ports/web.ts";
import type { NotOpened } from "../ports/opening.ts";
import type { OpenEnvironments } from "./open-environments.ts";

/** Opens environments for one question; whatever speaks to Docker is loaded then. */
export type OpenForQuestion = () => Promise<
  { readonly ok: true; readonly environments: OpenEnvironments } | NotOpened
>;

/** Containers of this installation, for the console. */
export function createEnvironmentReader(isEnabled: () => boolean, open: OpenForQuestion): EnvironmentReader {
  return {
    list: async () => (isEnabled() ? ((await withEnvironments(open, summarizeEnvironments)) ?? []) : []),
  };
}

/** Containers whose task is long over go. */
export async function cleanUpStaleContainers(open: OpenForQuestion): Promise<void> {
  await withEnvironments(open, ({ manager }) => manager.cleanupStaleContainers());
}

async function withEnvironments<T>(
  open: OpenForQuestion,
  ask: (environments: OpenEnvironments) => Promise<T>,
): Promise<T | null> {
  const opened = await open();
  if (!opened.ok) return null;
  try {
    return await ask(opened.environments);
  } finally {
    await opened.environments.close();
  }
}

async function summarizeEnvironments(environments: OpenEnvironments): ReturnType<EnvironmentReader["list"]> {
  const rows = await environments.list();
  if ("ok" in rows) return [];
  return rows.map(({ facts, info, repository }) => ({
    id: facts.id,
    name: repository ?? facts.name,
    image: facts.image,
    state: info?.status ?? facts.state,
    tone: facts.state === "running" ? ("running" as const) : ("waiting" as const),
    createdAt: facts.createdAt,
  }));
}
