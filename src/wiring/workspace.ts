import { realpathSync, statSync } from "node:fs";
import { relative } from "node:path";
import type { WorkspaceDeps } from "../application/jobs/execution.ts";
import type { NotOpened, Opened, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { LoadedConfig } from "../config/config.ts";
import { resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { isFolderTrusted } from "../config/trust.ts";
import type { Remedy } from "../domain/jobs/machine-trouble.ts";
import { createMasker } from "../domain/policy/mask.ts";
import { type Messages, messagesFor } from "../domain/texts/jobs.ts";
import { protectFolder } from "../infrastructure/engine/folder-protection.ts";
import { createFolderWorkspace } from "../infrastructure/engine/folder-workspace.ts";
import { findGit } from "../infrastructure/engine/git-roots.ts";
import { locateStorage } from "../infrastructure/engine/job-storage.ts";
import { chooseStaging } from "../infrastructure/engine/staging.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The parts behind an opened workspace, for code that builds on it. */
export interface WorkspaceDetails {
  readonly loaded: LoadedConfig;
  readonly parts: WorkspaceDeps;
}

export type OpenedFolder = Opened & WorkspaceDetails;

/** Opens a folder as a workspace: configuration, policy, transactions, journal, all wired by hand. */
export async function openWorkspace(
  env: Environment,
  options: OpenOptions,
  { mayCommit }: Pick<WorkspaceDeps, "mayCommit"> = {},
): Promise<Opening<WorkspaceDetails>> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home, workspace: given, warnings } = loaded;
  const messages = messagesFor(resolveLocale({ env, config }));
  const trouble = folderTrouble(given, messages);
  if (trouble !== null) return trouble;
  const root = realpathSync(given);
  const storage = locateStorage(root, home, findGit(root)?.topLevel ?? root);
  if (!storage.trusted) return notOpened(messages, messages.storageForeign(storage.folder), "own-storage");
  const { mask } = createMasker({ secrets: loaded.secrets.values() });
  const { protected_patterns: patterns, action_on_protected_file: action } = config.worker;
  const homeInside = relative(root, home);
  const ownPaths = [storage.inside, homeInside.startsWith("..") ? null : homeInside].filter(
    (path) => path !== null && path !== "",
  ) as string[];
  const { confine, transaction: setting, allow_ssh_agent: allowSshAgent, network, limits } = config.worker;
  const staging = chooseStaging({ setting, workspace: root, memory: storage.folder, path: env.PATH ?? "" });
  const folder = createFolderWorkspace({
    storage,
    home,
    config: config.worker,
    hooks: config.hooks,
    staging,
    policy: {
      protection: await protectFolder(root, { patterns, action, ownPaths }),
      rootNames: [...new Set([root, given])],
    },
    sandbox: async () =>
      (await import("../infrastructure/engine/create-sandbox.ts")).createSandbox({
        env,
        storage,
        home,
        confined: confine !== "off",
        mustConfine: confine === "on" || network.mode !== "on",
        network,
        limits: {
          memory: limits.memory,
          fileSize: limits.file_size,
          openFiles: limits.open_files,
          processes: limits.processes,
          disk: limits.disk,
        },
        allowSshAgent,
        homeAllow: config.worker.home_allow,
        staging,
      }),
    logger: createLineLogger({ home, file: config.log.file, level: config.log.level, mask }),
    messages,
    mask,
    isTrusted: () => isFolderTrusted({ home, workspace: root }),
    hostEnv: env,
    mayCommit,
  });
  return { ok: true, config, messages, warnings, loaded, ...folder };
}

function folderTrouble(path: string, messages: Messages): NotOpened | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return null;
  const message =
    stats === undefined ? messages.workspaceMissing(path) : messages.workspaceNotADirectory(path);
  return notOpened(messages, message, "create-workspace");
}

function notOpened(messages: Messages, message: string, remedy: Remedy): NotOpened {
  return {
    ok: false,
    exitCode: 3,
    messages,
    problems: [],
    message: `${message}\n${messages.remedy(remedy)}`,
  };
}
