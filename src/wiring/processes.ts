import { realpathSync } from "node:fs";
import type { ProcessTools } from "../application/chat/process-tools.ts";
import { jobEnvironment } from "../application/jobs/job-processes.ts";
import type { BackgroundProcess, WorkspaceProcesses } from "../application/ports/engine-processes.ts";
import { confinementSettings, processesSettings, toolPolicy } from "../config/settings.ts";
import { createBackgroundProcesses, listAll } from "../infrastructure/engine/background-processes.ts";
import { findGit } from "../infrastructure/engine/git-roots.ts";
import { locateStorage } from "../infrastructure/engine/job-storage.ts";
import { keepProcess } from "../infrastructure/engine/process-keeper.ts";
import { isPreviewWaiting, openLivePlace, openPreviewPlace } from "../infrastructure/engine/process-place.ts";
import { readProcessRecord } from "../infrastructure/engine/process-record.ts";
import { chooseStaging } from "../infrastructure/engine/staging.ts";
import { VERSION } from "../version.ts";
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
    hasOwnNetwork: config.worker.network.mode !== "on",
    isPreview: (jobId) => isPreviewWaiting(workspace.storage, jobId),
    pid: parts.pid,
    mask: workspace.mask,
    now: parts.now,
    random: parts.random,
  });
}

/** The processes as a conversation needs them; each part is loaded when it is asked for. */
export interface WorkspaceProcessesDoor {
  open(): Promise<WorkspaceProcesses>;
  /** The tool `process`. */
  openTools(readOnly: boolean): Promise<ProcessTools>;
  /** Whether one of the processes listens on a port now. */
  isOwnPort(port: number): Promise<boolean>;
}

const OWN_PAGE_MS = 20_000;
const OWN_PAGE_BYTES = 1024 ** 2;

export function createProcessesDoor(opened: OpenedFolder, isOnce: boolean): WorkspaceProcessesDoor {
  const open = async () => openProcesses(opened, isOnce);
  const isOwnPort = async (port: number) => {
    const processes = await (await open()).list();
    return processes.some(({ ports }) => ports.includes(port));
  };
  /** Pages of these processes, and of nobody else. */
  const openPages = async () => {
    const [{ createWeb }, { createNetworkPolicy }] = await Promise.all([
      import("../infrastructure/engine/read-web.ts"),
      import("../domain/policy/network.ts"),
    ]);
    return createWeb({
      policy: createNetworkPolicy({ allowed: [], denied: ["*:*"] }),
      timeoutMs: OWN_PAGE_MS,
      limitBytes: OWN_PAGE_BYTES,
      userAgent: `PicoClaw/${VERSION}`,
      isOwnPort,
    });
  };
  return {
    open,
    isOwnPort,
    openTools: async (readOnly) => {
      const [{ createProcessTools }, { policyVerdict }] = await Promise.all([
        import("../application/chat/process-tools.ts"),
        import("../tools/tool-context.ts"),
      ]);
      const { config } = opened.services;
      // Whoever may not run a command may not run one in the background either.
      const isDenied = ["process", "execute_command"].some(
        (name) => policyVerdict(toolPolicy(config), [name]) === "deny",
      );
      return createProcessTools({
        processes: open,
        web: openPages,
        now: opened.parts.now,
        readOnly: readOnly || isDenied || config.tools.write_scope === "read-only",
      });
    },
  };
}

/** Those of every workspace of this home. */
export function listEveryProcess({ services }: Pick<OpenedFolder, "services">): Promise<BackgroundProcess[]> {
  return listAll(services);
}

/** The program beside one background process. Its configuration is read when it starts, as a command's is. */
export async function keepProcessOf(env: Environment, folder: string): Promise<number> {
  const record = readProcessRecord(folder);
  if (record === null) return 2;
  const { root, configFile, over, hasOwnNetwork } = record;
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
    open: (run) =>
      over === null
        ? openLivePlace(sandbox, { root, run, hasOwnNetwork })
        : openPreviewPlace(sandbox, { root, run, hasOwnNetwork, storage: storage.folder, jobId: over }),
    isOver: () => (over === null || isPreviewWaiting(storage.folder, over) ? null : "preview-over"),
    environment: (view) => jobEnvironment({ host: env, pass, view }),
    now: () => new Date(),
  });
  // Whatever is still open belongs to a process that has ended.
  process.exit(0);
}
