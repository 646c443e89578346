import { copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { conflictsOfStuck } from "../../application/jobs/job-facts.ts";
import { createWorkspace, type WorkspaceBacking } from "../../application/jobs/workspace-jobs.ts";
import {
  type BeginRequest,
  type BeginResult,
  type JobState,
  LimitReached,
  type RepairedJob,
  type RepairedRecord,
  type StartedBy,
  type SwapOutcome,
  type Transactions,
} from "../../application/ports/jobs-transaction.ts";
import type { WorkerConfig, Workspace, WorkspaceDeps } from "../../application/ports/jobs-workspace.ts";
import type { Staging } from "../../application/ports/sandbox.ts";
import type { BeginRefusal, EvictedJob, OpenInterruption } from "../../domain/jobs/result.ts";
import { succeeds } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import {
  checkFolders,
  createJobFolder,
  DamagedRecord,
  hasRecords,
  type Intent,
  ifSound,
  isHalted,
  type JobFolder,
  jobFolder,
  openSlots,
  type Plan,
  planCopyFile,
  planFile,
  readIntent,
  readOwnPlan,
  readOwnRoots,
  readState,
  removeSlots,
  resumeSwap,
  swappedJobId,
  sweepTrash,
  toChanges,
  withdrawJobFolder,
  writeState,
} from "../jobs/job-folder.ts";
import { nameLockHolder, withFolderLocks } from "../platform/folder-lock.ts";
import { createWorkspaceFiles } from "../platform/folder-view.ts";
import { InstallationIncomplete } from "../platform/installation.ts";
import { killStrays } from "../platform/process-runner.ts";
import { collectGarbage } from "../platform/unattended.ts";
import type { Storage } from "../platform/workspace-storage.ts";
import type { OverlayOptions, Sandbox } from "../sandbox/create-sandbox.ts";
import { createDirectTransaction, createInPlaceTransaction } from "./direct-transaction.ts";
import { createJobArchive, keepImages } from "./job-archive.ts";
import { evictPastQuota, jobBytes, removeOldStories } from "./job-quota.ts";
import type { LandingTurns } from "./landing-turns.ts";
import { createJobHolders, createRunningJobs, jobsOfThisProcess } from "./running-jobs.ts";
import type { Checkpoint } from "./swap.ts";
import {
  finishInterrupted,
  foreignRootConflict,
  readInterruptedFiles,
  type SwapDeps,
  swapJob,
} from "./swap-job.ts";

const CODES: Readonly<Record<string, BeginRefusal["code"]>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
};

/** Why the place for staged changes could not be made; errors that are not the system's are bugs. */
function toRefusal(error: unknown, { folder, outer }: Storage): BeginRefusal {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== "string") throw error;
  if (error instanceof LimitReached && error.reached.what === "no-processes") {
    const { left } = error.reached;
    return { code: "no-processes", message: `only ${left} more processes can be started here`, left };
  }
  if (error instanceof InstallationIncomplete) return { code: "installation", message: error.path };
  if (["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(code) && !existsSync(folder))
    return { code: "storage", message: folder };
  const { message, path = folder, syscall } = error as NodeJS.ErrnoException;
  const isOwn = isInside(outer, path);
  // Users know the storage by its folder. A path below it may be secret, so the message ends before the first one.
  const [words = ""] = (message.split(`, ${syscall} '`, 1)[0] ?? "").split(`'${outer}/`, 1);
  const said = `${words.trimEnd()} (${isOwn ? outer : path})`;
  return { code: CODES[code] ?? "failed", message: said, path: isOwn ? dirname(outer) : path };
}

export interface TransactionDeps {
  readonly storage: Storage;
  readonly copyLimitBytes: number;
  readonly lockTimeoutMs: number;
  /** Absolute folders that belong to PicoClaw and are not part of any view. */
  readonly ownFolders: readonly string[];
  /** Opens overlay views and confines copies; absent if the machine or the configuration does not support that. */
  readonly sandbox?: () => Promise<Sandbox>;
  readonly now: () => Date;
  /** Called after a job has changed the files of the workspace: it landed, or was undone or redone. */
  readonly onSwapped?: () => void;
  /** For fault tests: called between the steps of a swap. */
  readonly checkpoint?: Checkpoint;
}

export function createTransactions(deps: TransactionDeps): Transactions {
  const { storage, now } = deps;
  const { workspace } = storage;
  const running = createRunningJobs(storage.folder);
  let turns: LandingTurns | null = null;
  /** Plans between seal and commit, kept so that they need not be read again. */
  const sealed = new Map<string, Plan>();
  const swapParts: SwapDeps = {
    storage: storage.folder,
    workspace,
    now,
    at: deps.checkpoint ?? (() => {}),
  };

  async function begin(request: BeginRequest): Promise<BeginResult> {
    const { jobId } = request;
    const trouble = workspaceTrouble(workspace);
    if (trouble !== null) return trouble;
    try {
      for (const dead of running.sweep()) await forget(dead);
      sweepTrash(storage.folder);
      const repaired = await repair();
      const begun = await open(request);
      if (!begun.ok) await forget(jobId);
      return begun.ok && repaired !== null ? { ...begun, repaired } : begun;
    } catch (error) {
      await forget(jobId);
      return { ok: false, refusal: toRefusal(error, storage) };
    }
  }

  async function open(request: BeginRequest): Promise<BeginResult> {
    const {
      jobId,
      kind,
      startedBy,
      network = true,
      resting = false,
      preview = false,
      again = false,
    } = request;
    const onSealed = (plan: Plan) => void sealed.set(jobId, plan);
    const options = { startedBy, network, resting, preview, onSealed };
    if (!again) running.start(jobId);
    const folder = again ? jobFolder(storage.folder, jobId) : createJobFolder(storage.folder, jobId);
    setState(folder, "running");
    switch (kind) {
      case "direct":
        return { ok: true, transaction: createDirectTransaction(workspace, folder) };
      case "none":
        return { ok: true, transaction: createInPlaceTransaction(workspace, folder) };
      case "overlay":
        return overlay(folder, options);
      case "copy":
        return copy(folder, options);
    }
  }

  async function copy(
    folder: JobFolder,
    { startedBy, network, preview, resting }: OverlayOptions,
  ): Promise<BeginResult> {
    const { copyLimitBytes: limitBytes } = deps;
    const { beginCopyTransaction } = await import("./copy-transaction.ts");
    const sandbox = await deps.sandbox?.();
    const confine = sandbox?.confine() ?? null;
    const limit = () => sandbox?.limit() ?? null;
    const ownHome = preview || resting;
    const ownFolders = [...deps.ownFolders, ...(sandbox?.hiddenInHomes() ?? [])];
    const secretFiles = (by: StartedBy) => sandbox?.secretFiles(by) ?? [];
    const isolation = { startedBy, secretFiles, network, ownHome, confine, limit };
    return beginCopyTransaction({ workspace, folder, limitBytes, ownFolders, ...isolation });
  }

  /** A sandbox that does not start has run nothing yet: a copy is used instead, if the configuration allows that. */
  async function overlay(folder: JobFolder, options: OverlayOptions): Promise<BeginResult> {
    const sandbox = await deps.sandbox?.();
    const begun = await sandbox?.overlay(folder, options);
    if (begun === undefined || "complaint" in begun) {
      const complaint = begun?.complaint ?? "there is no sandbox here";
      const reason = begun?.reason ?? sandbox?.fallsBack(complaint) ?? null;
      if (reason === null) return { ok: false, refusal: { code: "failed", message: complaint } };
      const copied = await copy(folder, options);
      if (begun?.reason === "foreign-group" && !copied.ok && copied.refusal.code === "too-large")
        return overlay(folder, { ...options, despiteForeign: true });
      return copied.ok ? { ...copied, insteadOf: { kind: "overlay", reason } } : copied;
    }
    return begun;
  }

  /** Removes the staged files of a job that never began, or whose process died before the seal; its journal stays. */
  async function forget(jobId: string): Promise<void> {
    const folder = jobFolder(storage.folder, jobId);
    await killStrays(folder.path, ...checkFolders(folder));
    const state = stateOrDamage(folder);
    if (state === undefined || state === "running") {
      removeSlots(folder);
      // A job without a journal never began, so it has no number either.
      if (existsSync(`${folder.path}/journal.ndjson`)) setState(folder, "discarded", { bytes: 0 });
      else withdrawJobFolder(storage.folder, jobId);
    }
    running.end(jobId);
  }

  /** A job whose state cannot be read is kept: it may hold the only copy of a file. */
  function stateOrDamage(folder: JobFolder): JobState | "damaged" | undefined {
    const read = ifSound(() => ({ state: readState(folder)?.state }));
    return read === null ? "damaged" : read.state;
  }

  function setState(folder: JobFolder, state: JobState, more: { bytes?: number } = {}): void {
    writeState(folder, { state, at: now().toISOString(), turn: readState(folder)?.turn ?? 0, ...more });
  }

  /** The workspace, and the repository that a job can reach. Folders that are gone need no protection. */
  function lockedFolders(jobId: string | undefined): readonly string[] {
    const roots = jobId === undefined ? [] : readOwnRoots(jobFolder(storage.folder, jobId), workspace);
    return [workspace, ...roots].filter((folder) => existsSync(folder));
  }

  function busy(jobId: string): SwapOutcome {
    const [heldBy] = lockedFolders(jobId).flatMap((folder) => nameLockHolder(folder) ?? []);
    return { status: "refused", reason: "busy", ...(heldBy !== undefined && { heldBy }) };
  }

  function locked<T>(jobId: string | undefined, use: () => Promise<T> | T): Promise<T | "busy"> {
    return lockFolders(lockedFolders(jobId), use);
  }

  async function lockFolders<T>(folders: readonly string[], use: () => Promise<T> | T): Promise<T | "busy"> {
    return withFolderLocks(folders, { timeoutMs: deps.lockTimeoutMs }, use);
  }

  async function swapFrom(
    jobId: string,
    from: JobState,
    direction: Intent["direction"],
    force: boolean,
  ): Promise<SwapOutcome> {
    const outcome = await locked(jobId, () => swapLocked(jobId, from, direction, force));
    return outcome === "busy" ? busy(jobId) : outcome;
  }

  /** Nothing is moved before the whole record was read; a damaged one is rebuilt once, as far as possible. */
  async function swapLocked(...request: Parameters<typeof swapRecorded>): Promise<SwapOutcome> {
    for (let damaged: string | null = null; ; ) {
      try {
        const outcome = await swapRecorded(...request);
        return outcome.status === "done" && damaged !== null ? { ...outcome, rebuilt: damaged } : outcome;
      } catch (error) {
        if (!(error instanceof DamagedRecord)) throw error;
        const { rebuildPlan, whyUnreadable } = await import("./damaged-records.ts");
        const why = whyUnreadable(error.file);
        if (why !== null) return { status: "refused", reason: why, paths: [error.file] };
        if (damaged !== null || rebuildPlan(jobFolder(storage.folder, request[0]), workspace) === null)
          return { status: "refused", reason: "damaged", paths: [error.file] };
        damaged = error.file;
      }
    }
  }

  async function swapRecorded(
    jobId: string,
    from: JobState,
    direction: Intent["direction"],
    force: boolean,
  ): Promise<SwapOutcome> {
    if (!existsSync(workspace)) return { status: "refused", reason: "workspace-gone" };
    const folder = jobFolder(storage.folder, jobId);
    let isCommittedNow = false;
    do {
      const interrupted = await finishInterrupted(swapParts);
      if (interrupted?.outcome === "stuck")
        return { status: "conflict", conflicts: conflictsOfStuck(interrupted) };
      isCommittedNow ||= interrupted?.jobId === jobId && interrupted.direction === "commit";
    } while (resumeSwap(storage.folder, folder));
    const state = readState(folder);
    if (state === null) return { status: "refused", reason: "unknown-job" };
    const own = readOwnPlan(folder, workspace, sealed.get(jobId));
    const isSealedNow = sealed.delete(jobId);
    if (own.status === "foreign")
      return { status: "conflict", conflicts: [foreignRootConflict(own, workspace)] };
    const plan = own.status === "own" ? own.plan : null;
    // The sealed changes of the same job were released just before.
    collectGarbage(plan?.ops.length ?? 0);
    if (state.state === "evicted") return { status: "refused", reason: "evicted" };
    if (direction === "commit" && state.state === "committed" && plan !== null) {
      const already = isCommittedNow ? {} : { already: true as const };
      return { status: "done", changes: toChanges(plan.ops, plan.roots, workspace), left: [], ...already };
    }
    if (state.state !== from) return { status: "refused", reason: "wrong-state", state: state.state };
    if (plan === null && hasRecords(folder, state.turn)) throw new DamagedRecord(planFile(folder));
    if (plan === null) return { status: "refused", reason: "evicted" };
    const slots = openSlots(folder);
    try {
      if (direction !== "redo") keepImages(slots.folder, plan, direction === "commit" ? "b" : "a");
      collectGarbage(plan.ops.length);
      const request = { folder: slots.folder, plan, turn: state.turn, direction, force, isSealedNow };
      const outcome = await swapJob(swapParts, request);
      if (outcome.status === "done") deps.onSwapped?.();
      return outcome;
    } finally {
      slots.close();
    }
  }

  async function repair(halted?: string): Promise<RepairedJob | null> {
    const jobId = halted ?? swappedJobId(readIntent(storage.folder));
    if (jobId === undefined && readIntent(storage.folder) === null) return null;
    const outcome = await locked(jobId, () => {
      const isOwn = halted === undefined || resumeSwap(storage.folder, jobFolder(storage.folder, halted));
      return isOwn ? finishInterrupted(swapParts) : null;
    });
    return outcome === "busy" ? null : outcome;
  }

  /** While an intent exists that a repair could not settle, it is unknown which slots are complete. */
  async function repairDamaged(): Promise<readonly RepairedRecord[]> {
    const { repairRecords } = await import("./damaged-records.ts");
    const repaired = await locked(undefined, () =>
      readIntent(storage.folder) === null ? repairRecords(storage.folder, workspace) : [],
    );
    return repaired === "busy" ? [] : repaired;
  }

  async function findInterruption(): Promise<OpenInterruption | null> {
    const intent = readIntent(storage.folder);
    const jobId = swappedJobId(intent);
    if (intent === null || intent === "damaged" || jobId === undefined) return null;
    // A process that swaps holds the lock, and loses it when it dies.
    if (lockedFolders(jobId).some((folder) => nameLockHolder(folder) !== null)) return null;
    const files = readInterruptedFiles(storage.folder, workspace, intent);
    return { jobId, direction: intent.direction, files };
  }

  /** A sealed job that is left as a preview. */
  function stage(jobId: string): void {
    const folder = jobFolder(storage.folder, jobId);
    sealed.delete(jobId);
    const [plan, copy] = [planFile(folder), planCopyFile(folder)];
    // Without disk space for a copy, the preview has only one plan.
    if (existsSync(plan) && !succeeds(() => copyFileSync(plan, copy))) rmSync(copy, { force: true });
    setState(folder, "staged", { bytes: jobBytes(folder) });
    running.end(jobId);
  }

  /** `lock`: waits for the workspace, unless the caller holds it. */
  async function commit(
    jobId: string,
    { may }: Parameters<Transactions["commit"]>[1] = {},
    lock: <T>(use: () => Promise<T>) => Promise<T | "busy">,
  ): ReturnType<Transactions["commit"]> {
    const folder = jobFolder(storage.folder, jobId);
    const isNew = stateOrDamage(folder) === "running";
    // Its size is counted once, at the commit or else below: with many files that is expensive.
    if (isNew) setState(folder, "staged", { bytes: 0 });
    try {
      const outcome = await lock(async () =>
        (await may?.()) === false
          ? ({ status: "late" } as const)
          : swapLocked(jobId, "staged", "commit", false),
      );
      // A swap that was interrupted half-way is left to the repair.
      const isCutOff = swappedJobId(readIntent(storage.folder)) === jobId;
      const isDone = outcome !== "busy" && outcome.status === "done";
      if (isNew && !isCutOff && !isDone) stage(jobId);
      if (!isNew && isDone) rmSync(planCopyFile(folder), { force: true });
      return outcome === "busy" ? busy(jobId) : outcome;
    } finally {
      sealed.delete(jobId);
      // Not earlier: a process that waits for the workspace is alive.
      running.end(jobId);
      sweepTrash(storage.folder, jobId);
    }
  }

  type Lock = (drop: () => void) => Promise<unknown>;
  async function discard(jobId: string, { began = true } = {}, lock: Lock = (drop) => locked(jobId, drop)) {
    const folder = jobFolder(storage.folder, jobId);
    sealed.delete(jobId);
    const drop = () => {
      const state = stateOrDamage(folder);
      if (state !== "running" && state !== "staged") return;
      const intent = readIntent(storage.folder);
      if (intent === "damaged" || swappedJobId(intent) === jobId || isHalted(folder)) return;
      removeSlots(folder);
      if (began) setState(folder, "discarded", { bytes: 0 });
      else withdrawJobFolder(storage.folder, jobId);
    };
    if (stateOrDamage(folder) === "running") drop();
    else await lock(drop);
    running.end(jobId);
    sweepTrash(storage.folder, jobId);
  }

  return {
    begin,
    commit: (jobId, options) => commit(jobId, options, (use) => locked(jobId, use)),
    hold: async (use) => {
      const { rootsFor } = await import("../platform/git-roots.ts");
      const folders = [workspace, ...rootsFor(workspace)].filter((folder) => existsSync(folder));
      return lockFolders(folders, () =>
        use({
          commit: (jobId, options) =>
            commit(jobId, options, (swap) => {
              // The repository that the job reaches may be another one today.
              const others = lockedFolders(jobId).filter((folder) => !folders.includes(folder));
              return lockFolders(others, swap);
            }),
          discard: (jobId, options) => discard(jobId, options, async (drop) => drop()),
        }),
      );
    },
    takeTurn: async (signal) => {
      const { createLandingTurns } = await import("./landing-turns.ts");
      turns ??= createLandingTurns(storage.folder);
      return turns.take(signal);
    },
    undo: (jobId, { force }) => swapFrom(jobId, "committed", "undo", force),
    redo: (jobId, { force }) => swapFrom(jobId, "undone", "redo", force),
    discard: (jobId, options) => discard(jobId, options),
    stage: async (jobId) => {
      stage(jobId);
      sweepTrash(storage.folder, jobId);
    },
    repair,
    repairRecords: repairDamaged,
    findInterruption,
    findDamagedUndo: async (options) =>
      (await import("./damaged-records.ts")).findDamagedUndo(storage.folder, workspace, options),
    enforceQuota: async ({ quotaBytes, journalDays }, keep): Promise<readonly EvictedJob[]> => {
      const evicted = await locked(undefined, () => {
        removeOldStories(storage.folder, journalDays, now);
        return evictPastQuota(storage.folder, quotaBytes, keep, now);
      });
      return evicted === "busy" ? [] : evicted;
    },
  };
}

function workspaceTrouble(workspace: string): BeginResult | null {
  const stats = statSync(workspace, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return null;
  const [code, what] =
    stats === undefined
      ? (["workspace-missing", "does not exist"] as const)
      : (["not-a-directory", "is not a directory"] as const);
  return { ok: false, refusal: { code, message: `workspace ${what}: ${workspace}` } };
}

export interface FolderWorkspaceDeps
  extends Pick<
    WorkspaceDeps,
    | "policy"
    | "logger"
    | "messages"
    | "mask"
    | "hostEnv"
    | "isTrusted"
    | "mayCommit"
    | "hooks"
    | "tellModelNetwork"
  > {
  readonly storage: Storage;
  readonly home: string;
  readonly config: WorkerConfig;
  readonly staging: Staging;
  /** Stages jobs with processes; loaded at the first one. */
  readonly sandbox: NonNullable<TransactionDeps["sandbox"]>;
  readonly onSwapped: NonNullable<TransactionDeps["onSwapped"]>;
  readonly openDraft: WorkspaceBacking["openDraft"];
  readonly judgeMerge?: WorkspaceBacking["judgeMerge"];
}

/** A folder of this machine as a workspace, with the parts that its jobs need. */
export function createFolderWorkspace(given: FolderWorkspaceDeps): {
  readonly workspace: Workspace;
  readonly deps: WorkspaceDeps;
} {
  const { storage, home, config, staging, sandbox, onSwapped, openDraft, judgeMerge, ...rest } = given;
  const ours = jobsOfThisProcess();
  const { now } = ours;
  const deps: WorkspaceDeps = {
    ...rest,
    ...ours,
    root: storage.workspace,
    config,
    staging: { ...staging, confinable: staging.bubblewrap !== null && staging.kind !== "none" },
    transactions: createTransactions({
      storage,
      copyLimitBytes: config.copy_limit,
      lockTimeoutMs: 30_000,
      ownFolders: [storage.outer, home],
      sandbox,
      now,
      onSwapped,
    }),
    archive: createJobArchive(storage.folder, now, storage.workspace),
    ownGit: async () => {
      const { findOwnGit } = await import("./own-git.ts");
      return findOwnGit(storage.workspace, rest.hostEnv);
    },
    processes: async () => {
      const [{ createProcessRunner }, { boundRunner }] = await Promise.all([
        import("../platform/process-runner.ts"),
        import("../sandbox/process-bound.ts"),
      ]);
      return boundRunner(createProcessRunner(), config.limits.processes);
    },
  };
  const workspace = createWorkspace({
    deps,
    storage: storage.folder,
    files: createWorkspaceFiles(storage.workspace),
    openDraft,
    judgeMerge,
    ...createJobHolders(storage.folder),
  });
  return { workspace, deps };
}
