import { realpathSync } from "node:fs";
import { jobEnvironment } from "../application/jobs/job-processes.ts";
import type { BackgroundProcess, WorkspaceProcesses } from "../application/ports/engine-processes.ts";
import { confinementSettings, processesSettings } from "../config/settings.ts";
import { createBackgroundProcesses, listAll } from "../infrastructure/engine/background-processes.ts";
import { findGit } from "../infrastructure/engine/git-roots.ts";
import { locateStorage } from "../infrastructure/engine/job-storage.ts";
import { keepProcess, openLivePlace } from "../infrastructure/engine/process-keeper.ts";
import { readProcessRecord } from "../infrastructure/engine/process-record.ts";
import { chooseStaging } from "../infrastructure/engine/staging.ts";
import { type Environment, openServices } from "./services.ts";
import { type OpenedFolder, openSandbox } from "./workspace.ts";

/**
 * The background processes of an opened workspace. Nothing is looked at before it is asked for. `isOnce`: this program ends
 * with one answer, so that nothing could end with it.
 */
export function openProcesses(
  { workspace, services, parts }: OpenedFolder,
  isOnce = false,
): WorkspaceProcesses {
  const { config, home, env, options } = services;
  const settings = processesSettings(config);
  const { mustConfine } = confinementSettings(config);
  return createBackgroundProcesses({
    home,
    root: workspace.root,
    configFile: options.configFile ?? null,
    settings: { ...settings, keep: settings.keep || isOnce },
    env,
    isUnconfinable: mustConfine && !parts.staging.confinable,
    pid: parts.pid,
    mask: workspace.mask,
    now: parts.now,
    random: parts.random,
  });
}

/** Those of every workspace of this home. */
export function listEveryProcess({ services }: Pick<OpenedFolder, "services">): Promise<BackgroundProcess[]> {
  return listAll(services);
}

/** The program beside one background process. Its configuration is read when it starts, as a command's is. */
export async function keepProcessOf(env: Environment, folder: string): Promise<number> {
  const record = readProcessRecord(folder);
  if (record === null) return 2;
  const { root, configFile } = record;
  const services = await openServices(env, {
    cwd: root,
    workspace: root,
    ...(configFile !== null && { configFile }),
  });
  if (!services.ok) {
    console.error(services.problems.map((problem) => JSON.stringify(problem)).join("\n"));
    return services.exitCode;
  }
  const { home, config } = services;
  const storage = locateStorage(realpathSync(root), home, findGit(root)?.topLevel ?? root);
  const { transaction: setting } = config.worker;
  const staging = chooseStaging({ setting, workspace: root, memory: storage.folder, path: env.PATH ?? "" });
  const sandbox = await openSandbox(services, storage, staging);
  const pass = config.worker.env_pass;
  await keepProcess({
    folder,
    open: (run) => openLivePlace(sandbox, { root, run }),
    environment: (view) => jobEnvironment({ host: env, pass, view }),
    now: () => new Date(),
  });
  // Whatever is still open belongs to a process that has ended.
  process.exit(0);
}
