import { LOG } from "../../application/ports/logger.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import { createWorkspace } from "../../application/jobs/workspace.ts";
import type { WorkerConfig, WorkspaceDeps } from "../../application/jobs/workspace-parts.ts";
import { copyXattrs } from "../platform/xattr.ts";
import type { Staging } from "./staging.ts";
import { createJobHolders, jobsOfThisProcess } from "./this-process.ts";
import { createJobArchive } from "./job-archive.ts";
import type { Storage } from "./job-storage.ts";
import { createTransactions, type TransactionDeps } from "./folder-workspace.ts";
import { createWorkspaceFiles } from "./folder-files.ts";

export interface FolderWorkspaceDeps
  extends Pick<
    WorkspaceDeps,
    "policy" | "logger" | "messages" | "mask" | "hostEnv" | "isTrusted" | "mayCommit"
  > {
  readonly storage: Storage;
  readonly home: string;
  readonly config: WorkerConfig & { readonly copy_limit: number };
  readonly staging: Staging;
  /** Stages jobs with processes; loaded with the first. */
  readonly sandbox: NonNullable<TransactionDeps["sandbox"]>;
}

/** A folder of this machine as a workspace, with the parts that its jobs are made of. */
export function createFolderWorkspace(given: FolderWorkspaceDeps): {
  readonly workspace: Workspace;
  readonly parts: WorkspaceDeps;
} {
  const { storage, home, config, staging, sandbox, ...rest } = given;
  const ours = jobsOfThisProcess();
  const { now } = ours;
  const parts: WorkspaceDeps = {
    ...rest,
    ...ours,
    root: storage.workspace,
    config,
    staging: { ...staging, confinable: staging.bubblewrap !== null && staging.kind !== "none" },
    transactions: createTransactions({
      storage,
      home,
      onHolderEnded: (pid) => rest.logger.warn("worker", ...LOG.holderEnded, { pid }),
      copyLimitBytes: config.copy_limit,
      lockTimeoutMs: 30_000,
      ownFolders: [storage.folder, home],
      sandbox,
      copyAttributes: (from, fd) => void copyXattrs(from, fd),
      now,
    }),
    archive: createJobArchive(storage.folder, now, storage.workspace),
    ownGit: async () => {
      const { findOwnGit } = await import("./own-git.ts");
      return findOwnGit({ workspace: storage.workspace, env: rest.hostEnv });
    },
    processes: async () => (await import("./process-process-runner.ts")).createProcessRunner(),
  };
  const workspace = createWorkspace({
    parts,
    storage: storage.folder,
    files: createWorkspaceFiles(storage.workspace),
    ...createJobHolders(storage.folder),
  });
  return { workspace, parts };
}
