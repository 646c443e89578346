import type { Config } from "../../config/config.ts";
import type { CommandPolicy } from "../../domain/policy/allowed-commands.ts";
import {
  EnvironmentError,
  type EnvironmentReader,
  type EnvironmentRecords,
  type SandboxManager,
} from "../ports/containers.ts";
import type { OpenEnvironments, OpenForQuestion } from "../ports/containers-opened.ts";
import { environmentPolicy, type FunctionDefinition } from "./execution-environment-manager.ts";

/** Loads the definitions of the tools and the prompt's template when a model is given environments. */
export function createModelSide(
  config: Config,
  definitions: () => Promise<{ readonly execute: FunctionDefinition; readonly editor: FunctionDefinition }>,
  loadPrompt: () => Promise<(policy: CommandPolicy) => string>,
): OpenEnvironments["modelSide"] {
  return async () => {
    const prompt = await loadPrompt();
    const { execute, editor } = await definitions();
    return {
      tools: config.command_executor.text_editor.enabled ? [execute, editor] : [execute],
      promptFragment: (environment) => prompt(environmentPolicy(config, environment)),
    };
  };
}

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

export interface CleanUpScheduleDeps {
  /** As it is now: environments may be switched on while this runs. */
  readonly config: () => Pick<Config["command_executor"], "enabled" | "cleanup">;
  readonly cleanUp: () => Promise<void>;
  readonly onTrouble: (error: unknown) => void;
}

const HOUR_MS = 3_600_000;
const LONGEST_MS = 20 * 24 * HOUR_MS;

/** Containers that were left behind go at the start and on an interval. The answer stops it. */
export function scheduleCleanUp({ config, cleanUp, onTrouble }: CleanUpScheduleDeps): () => void {
  const state: { timer?: ReturnType<typeof setTimeout>; stopped: boolean } = { stopped: false };
  const round = () => {
    void (config().enabled ? cleanUp() : Promise.resolve())
      .catch((error) => onTrouble(error instanceof EnvironmentError ? `Docker: ${error.message}` : error))
      .finally(() => {
        if (state.stopped) return;
        state.timer = setTimeout(round, Math.min(config().cleanup.interval_hours * HOUR_MS, LONGEST_MS));
        state.timer.unref();
      });
  };
  round();
  return () => {
    state.stopped = true;
    clearTimeout(state.timer);
  };
}

/** Containers of this installation with what is remembered of them. */
export async function listEnvironments(
  sandboxes: SandboxManager,
  records: Pick<EnvironmentRecords, "read">,
): ReturnType<OpenEnvironments["list"]> {
  const listed = await sandboxes.listContainers();
  if (!Array.isArray(listed)) return listed as Exclude<typeof listed, readonly unknown[]>;
  return listed.map((facts) => {
    const record = records.read(facts.taskId);
    return { facts, info: record?.info ?? null, repository: record?.repository ?? null };
  });
}

/** Why no container can be made now, for a person; null when one can. */
export async function describeEngineTrouble(
  { sandboxes, texts, config }: Pick<OpenEnvironments, "sandboxes" | "texts" | "config">,
  signal: AbortSignal,
): Promise<string | null> {
  const facts = await sandboxes.describe(signal);
  if (facts.ok) return null;
  const why = texts.failure("engine", facts.code, facts.detail);
  return `${why}\n${texts.remedy("start-docker", config.command_executor.docker.host)}`;
}
