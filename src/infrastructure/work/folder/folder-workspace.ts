import type { Workspace } from "../../../application/ports/workspace.ts";
import { createWorkspace } from "../../../application/work/create-workspace.ts";
import type { WorkerConfig, WorkspaceParts } from "../../../application/work/workspace-parts.ts";
import { hashHex } from "../../runtime/hash.ts";
import { copyXattrs } from "../../runtime/libc.ts";
import type { Staging } from "../overlay/staging.ts";
import { isAlive } from "../process/is-alive.ts";
import { createJobArchive } from "../transaction/job-archive.ts";
import { worksOn } from "../transaction/job-holder.ts";
import type { Storage } from "../transaction/storage.ts";
import { createTransactions, type TransactionParts } from "../transaction/transactions.ts";
import { createWorkspaceFiles } from "./folder-files.ts";

export interface FolderWorkspaceParts
  extends Pick<WorkspaceParts, "policy" | "logger" | "messages" | "mask" | "hostEnv"> {
  readonly storage: Storage;
  readonly home: string;
  readonly config: WorkerConfig & { readonly copy_limit: number };
  readonly staging: Staging;
  /** Stages jobs with processes; loaded with the first. */
  readonly sandbox: NonNullable<TransactionParts["sandbox"]>;
}

/** A folder of this machine as a workspace, with the parts that its jobs are made of. */
export function createFolderWorkspace(given: FolderWorkspaceParts): {
  readonly workspace: Workspace;
  readonly parts: WorkspaceParts;
} {
  const { storage, home, config, staging, sandbox, ...rest } = given;
  const now = () => new Date();
  const parts: WorkspaceParts = {
    ...rest,
    workspace: storage.workspace,
    config,
    staging: { ...staging, confinable: staging.bubblewrap !== null && staging.kind !== "none" },
    transactions: createTransactions({
      storage,
      copyLimitBytes: config.copy_limit,
      lockTimeoutMs: 30_000,
      ownFolders: [storage.folder, home],
      sandbox,
      copyAttributes: (from, fd) => void copyXattrs(from, fd),
      now,
    }),
    archive: createJobArchive(storage.folder, now),
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    processes: async () => (await import("../process/process-runner.ts")).createProcessRunner(),
    pid: process.pid,
    now,
    clock: () => performance.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const workspace = createWorkspace({
    parts,
    storage: storage.folder,
    files: createWorkspaceFiles(storage.workspace),
    isAlive,
    worksOn: (pid, jobId) => worksOn(storage.folder, pid, jobId),
    signal: (pid, signal) => void process.kill(pid, signal),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  return { workspace, parts };
}
