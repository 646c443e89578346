import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import type {
  NotOpened,
  OpenedWorkspace,
  Opening,
  OpenOptions,
  WorkspaceDeps,
} from "../application/ports/jobs-workspace.ts";
import type { Staging } from "../application/ports/sandbox.ts";
import { confinementSettings } from "../config/settings.ts";
import { isFolderTrusted } from "../config/trust.ts";
import type { Remedy } from "../domain/platform/machine-trouble.ts";
import { isInside } from "../domain/platform/paths.ts";
import { createProtection } from "../domain/policy/protection.ts";
import { createFolderWorkspace } from "../infrastructure/engine/folder-workspace.ts";
import { findGit } from "../infrastructure/platform/git-roots.ts";
import { locateStorage, reclaimStorage, type Storage } from "../infrastructure/platform/workspace-storage.ts";
import { findFolderTrouble, protectFolder } from "../infrastructure/policy/folder-protection.ts";
import { ownPathsInside, readHomeRules } from "../infrastructure/sandbox/homes-inside.ts";
import { noteLanding } from "../infrastructure/sandbox/process-record.ts";
import { chooseStaging } from "../infrastructure/sandbox/staging.ts";
import type { EmptiedFolders } from "../infrastructure/sandbox/surroundings.ts";
import { type Environment, openServices, type Services } from "./services.ts";

/** The parts behind an opened workspace, for code that builds on it. */
export interface WorkspaceDetails {
  readonly services: Services;
  readonly deps: WorkspaceDeps;
}

export type OpenedFolder = OpenedWorkspace & WorkspaceDetails;

/** Opens a folder as a workspace: configuration, policy, transactions, journal, all wired by hand. */
export async function openWorkspace(
  env: Environment,
  options: OpenOptions,
  { mayCommit, emptied }: Pick<WorkspaceDeps, "mayCommit"> & { readonly emptied?: EmptiedFolders } = {},
): Promise<Opening<WorkspaceDetails>> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { config, home, workspace: given, warnings, messages, mask } = services;
  const trouble = findFolderTrouble(given);
  if (trouble !== null) return notOpened(services, messages[trouble](given), "create-workspace");
  const root = realpathSync(given);
  const locate = () => locateStorage(root, home, findGit(root)?.topLevel ?? root);
  const found = locate();
  const isReclaimed = !found.trusted && options.reclaimStorage === true && reclaimStorage(found, home);
  const storage = isReclaimed ? locate() : found;
  if (!storage.trusted)
    return isInside(home, storage.folder)
      ? notOpened(services, messages.storageForeign(storage.folder), "own-storage")
      : services.refuse(
          messages.storageForeignOutside(storage.folder, [
            ...(storage.outer === storage.folder ? [] : [storage.outer, dirname(storage.folder)]),
            storage.folder,
          ]),
        );
  const { protected_patterns: patterns, action_on_protected_file: action } = config.worker;
  const ownPaths = ownPathsInside(root, storage.inside, home);
  const ofHome = readHomeRules(root, { env, homeWrites: config.worker.home_writes });
  const { transaction: setting } = config.worker;
  const staging = chooseStaging({ setting, workspace: root, memory: storage.folder, path: env.PATH ?? "" });
  const folder = createFolderWorkspace({
    openDraft: async (deps, request) =>
      (await import("../application/drafts/open-draft.ts")).openDraft(deps, request),
    storage,
    home,
    tellModelNetwork: async () => (await import("../infrastructure/sandbox/allowed-hosts.ts")).tellOnce(home),
    config: config.worker,
    hooks: config.hooks,
    judgeMerge: async (draft, signal) => {
      const { createMergeJudge } = await import("../infrastructure/checks/check-memory.ts");
      const { files } = folder.workspace;
      const place = { home, root, storage: storage.outer, path: env.PATH ?? "" };
      const now = () => folder.deps.now().getTime();
      return createMergeJudge({ ...place, files, settings: config.checks, now })(draft, signal);
    },
    staging,
    policy: {
      protection: protectFolder(root, { patterns, action, ownPaths, ofHome }),
      rootNames: [...new Set([root, given])],
    },
    sandbox: () => openSandbox(services, storage, staging, emptied),
    onSwapped: () => noteLanding(home, root, folder.deps.now()),
    logger: services.log,
    messages,
    mask,
    isTrusted: () => isFolderTrusted({ home, workspace: root }),
    hostEnv: env,
    mayCommit,
  });
  return { ok: true, config, messages, warnings, services, ...folder };
}

/** The sandbox of a folder's processes; loaded with the first. */
export async function openSandbox(
  { env, home, config }: Services,
  storage: Storage,
  staging: Staging,
  emptied?: EmptiedFolders,
) {
  const { createSandbox } = await import("../infrastructure/sandbox/create-sandbox.ts");
  const { beginOverlayTransaction: beginOverlay } = await import(
    "../infrastructure/engine/overlay-transaction.ts"
  );
  const { protected_patterns: patterns, env_files: allowed } = config.worker;
  const matcher = (patterns: readonly string[]) => {
    // A secret is one in any case, whatever the file system makes of its name.
    const deps = { patterns, action: "error", ownPaths: [], caseInsensitive: true } as const;
    const { protects } = createProtection(deps);
    return (path: string) => protects(path) !== null;
  };
  return createSandbox({
    secrets: { patterns, protects: matcher(patterns), allows: matcher(allowed) },
    env,
    storage,
    home,
    ...confinementSettings(config),
    readHosts: async () =>
      (await import("./named-hosts.ts")).readNamedHosts(env, { home, workspace: storage.workspace }),
    staging,
    emptied,
    beginOverlay,
  });
}

function notOpened({ messages, refuse }: Services, message: string, remedy: Remedy): NotOpened {
  return refuse(`${message}\n${messages.remedy(remedy)}`);
}
