import { realpathSync } from "node:fs";
import { createProcessesDoor, type ProcessesDoor } from "../application/chat/process-tools.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { WorkspaceProcesses } from "../application/ports/sandbox-processes.ts";
import { confinementSettings, modelNetwork, processesSettings, toolPolicy } from "../config/settings.ts";
import { jobEnvironment } from "../domain/policy/job-environment.ts";
import { listProblems } from "../domain/texts/config-problem.ts";
import { findGit } from "../infrastructure/platform/git-roots.ts";
import { writeAll } from "../infrastructure/platform/standard-streams.ts";
import { locateStorage } from "../infrastructure/platform/workspace-storage.ts";
import { createBackgroundProcesses, listAll } from "../infrastructure/sandbox/background-processes.ts";
import { keepProcess } from "../infrastructure/sandbox/process-keeper.ts";
import { findPreview } from "../infrastructure/sandbox/process-place.ts";
import { readProcessRecord } from "../infrastructure/sandbox/process-record.ts";
import { chooseStaging } from "../infrastructure/sandbox/staging.ts";
import { VERSION } from "../version.ts";
import { type Environment, openServices } from "./services.ts";
import { type OpenedFolder, openSandbox, openWorkspace } from "./workspace.ts";

/** Nothing is looked at before it is asked for. `isOnce`: this program ends with one answer. */
export function openProcesses(
  { workspace, services, deps }: OpenedFolder,
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
    isUnconfinable: mustConfine && !deps.staging.confinable,
    hasOwnNetwork: (startedBy) =>
      (startedBy === "user" ? config.worker.network : modelNetwork(config)).mode !== "on" &&
      deps.staging.confinable,
    findPreview: (name) => findPreview(workspace, name),
    pid: options.endsWith ?? deps.pid,
    mask: workspace.mask,
    now: deps.now,
    random: deps.random,
  });
}

/** The same for a conversation, whose tool reads their pages; both are loaded when a model may call it. */
export function openProcessesDoor(opened: OpenedFolder, isOnce: boolean): ProcessesDoor {
  const { config } = opened.services;
  return createProcessesDoor({
    open: () => openProcesses(opened, isOnce),
    openPages: async (isOwnPort) => {
      const { createOwnPages } = await import("../infrastructure/sandbox/read-web.ts");
      return createOwnPages({ isOwnPort, userAgent: `PicoClaw/${VERSION}` });
    },
    isDenied: async (tool) => {
      const { policyVerdict } = await import("../tools/tool-context.ts");
      return policyVerdict(toolPolicy(config), [tool]) === "deny";
    },
    writeScope: config.tools.write_scope,
    now: opened.deps.now,
  });
}

/** For the command line: these, and those of every workspace of this home. */
export async function openProcessList(env: Environment, options: OpenOptions) {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const processes = openProcesses(opened, true);
  return { ...opened, processes, listEverywhere: () => listAll(opened.services) };
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
    writeAll(2, `${listProblems(services.messages, services.problems).join("\n")}\n`);
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
    storage: storage.folder,
    sandbox,
    environment: (view) => jobEnvironment({ host: env, pass, view }),
    now: () => new Date(),
  });
  // Handles that are still open belong to a process that has ended.
  process.exit(0);
}
