import { statSync } from "node:fs";
import { diffText, WHOLE_DIFF } from "../../application/jobs/job-facts.ts";
import { executePatch } from "../../application/jobs/workspace-jobs.ts";
import type { SandboxFailure, SandboxManager } from "../../application/ports/containers.ts";
import type { ExecuteRequest, Workspace, WorkspaceDeps } from "../../application/ports/jobs-workspace.ts";
import type { JobResult } from "../../domain/jobs/result.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import { createTransactions } from "../engine/folder-workspace.ts";
import type { WorkerKind } from "../heads/kinds/worker-kind.ts";
import { toStorage } from "../platform/workspace-storage.ts";
import type { Sandbox } from "../sandbox/create-sandbox.ts";
import type { Credentials } from "./credentials.ts";
import { deadViews } from "./task-files.ts";
import type { TaskPreviews, WorkerExecutorDeps } from "./worker-executor.ts";

export interface TaskWorkspaceDeps {
  readonly workspace: Workspace;
  readonly deps: WorkspaceDeps;
  readonly home: string;
  readonly copyLimitBytes: number;
  readonly mask: (text: string) => string;
}

export interface TaskExecutorOptions {
  readonly id: string;
  readonly kind: WorkerKind;
  /** One that has the CLI; null: the environment's, with the CLI over it. */
  readonly image: string | null;
  readonly environment: string;
  readonly folder: string;
  readonly credentials: Credentials;
  readonly mask: (text: string) => string;
}

const LOCK_MS = 30_000;

/** A workspace as the worker of a task uses it: whose files they are, where its layers are, and how its runs become jobs. */
export function openTaskWorkspace(
  task: TaskWorkspaceDeps,
): Pick<
  WorkerExecutorDeps,
  | "workspace"
  | "ownFolders"
  | "deadLayers"
  | "copyLimitBytes"
  | "user"
  | "execute"
  | "wordNote"
  | "diffOf"
  | "previews"
  | "mask"
  | "judged"
> {
  const { workspace, deps, home, copyLimitBytes, mask } = task;
  return {
    workspace: workspace.root,
    ownFolders: [workspace.storage, home],
    deadLayers: () => deadViews(workspace.storage),
    copyLimitBytes,
    user: ownerOf(workspace.root),
    execute: (job, stage) => executeInStage(task, job, stage),
    wordNote: (note) => wordNote(deps.messages, note),
    diffOf: (jobId) => diffText(workspace.archive.walkDifferences(jobId), WHOLE_DIFF),
    previews: taskPreviews(workspace, deps),
    mask,
    judged: {
      config: deps.config,
      protection: deps.policy.protection,
      messages: deps.messages,
      logger: deps.logger,
      locale: deps.messages.locale,
    },
  };
}

function taskPreviews(workspace: Workspace, { hooks }: WorkspaceDeps): TaskPreviews {
  return {
    hooks: { commands: hooks?.before_landing ?? [], timeout: hooks?.timeout ?? 0 },
    async land(jobId) {
      const outcome = await workspace.commitPreview(jobId);
      if (outcome.status === "done") return [];
      // Any other outcome leaves the change as it is and is reported by name.
      return outcome.status === "conflict" ? outcome.conflicts.map(({ path }) => path) : [outcome.status];
    },
    async discard(jobId) {
      await workspace.discardPreview(jobId);
    },
    isLanded: (jobId) => workspace.archive.read(jobId)?.state === "committed",
    beforeJobs(jobIds) {
      const before = new Map<string, Uint8Array | null>();
      for (const jobId of jobIds)
        for (const one of workspace.archive.walkDifferences(jobId))
          if (one.before !== undefined && !before.has(one.path)) before.set(one.path, one.before);
      return before;
    },
  };
}

/** Carries out a job that is staged where the container works. */
function executeInStage(
  { workspace, deps, home, copyLimitBytes, mask }: TaskWorkspaceDeps,
  job: ExecuteRequest,
  stage: Sandbox,
): Promise<JobResult> {
  const { root, storage: folder } = workspace;
  const storage = toStorage(root, folder, true);
  const transactions = createTransactions({
    storage,
    copyLimitBytes,
    lockTimeoutMs: LOCK_MS,
    ownFolders: [storage.outer, home],
    sandbox: async () => stage,
    now: deps.now,
  });
  return executePatch(
    {
      ...deps,
      transactions,
      mask,
      staging: { kind: "overlay", reason: "overlay-available", confinable: true },
      // How jobs are staged elsewhere does not matter here.
      archive: { ...deps.archive, isFirstOf: () => false },
    },
    job,
  );
}

/** Files that the worker makes belong to the owner of the repository. */
function ownerOf(workspace: string): { readonly uid: number; readonly gid: number } {
  const uid = process.getuid?.() ?? 10_001;
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? uid };
  const owner = statSync(workspace);
  return { uid: owner.uid, gid: owner.gid };
}

/** An engine whose address cannot be read answers everything with that. */
export function unreachableSandbox(failure: SandboxFailure): SandboxManager {
  const answer = async () => failure;
  return { describe: answer, startContainer: answer, close: async () => {} } as unknown as SandboxManager;
}
