import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWorkspace } from "../../application/jobs/workspace-jobs.ts";
import {
  type ClonePoint,
  type ContainerInfo,
  EnvironmentError,
  type ExecResult,
  type SandboxManager,
} from "../../application/ports/containers.ts";
import type {
  CheckView,
  JobState,
  Layers,
  SwapOutcome,
  Transaction,
  Transactions,
} from "../../application/ports/jobs-transaction.ts";
import type { WorkerConfig, Workspace, WorkspaceDeps } from "../../application/ports/jobs-workspace.ts";
import type { ProcessResult, ProcessRunner } from "../../application/ports/platform-processes.ts";
import type {
  EntryState as FirstStanding,
  View,
  WorkspaceFiles,
} from "../../application/ports/platform-view.ts";
import type { Change, Conflict } from "../../domain/jobs/result.ts";
import { createJobArchive } from "../engine/job-archive.ts";
import { createJobHolders, jobsOfThisProcess } from "../engine/running-jobs.ts";
import {
  createJobFolder,
  type JobFolder,
  jobFolder,
  opSlotPath,
  readJson,
  readState,
  removeSlots,
  writeDurably,
  writeState,
} from "../jobs/job-folder.ts";
import { toStanding } from "../platform/folder-view.ts";
import { hashHex } from "../platform/hash.ts";
import { createOutputCapture } from "../platform/output-capture.ts";
import { type CloneState, createCloneState } from "./clone-state.ts";
import { type ContainerFileThread, createContainerView } from "./container-files.ts";

/** Processes of jobs in a container. Background processes continue with the task (001), so a job has nothing to end. */
export function createContainerProcesses(
  sandboxes: SandboxManager,
  container: string,
  { endsBackground = false }: { readonly endsBackground?: boolean } = {},
): ProcessRunner {
  return {
    async runProcess(request) {
      const both = createOutputCapture(request.outputLimitBytes, request.cutNote);
      const result = await sandboxes.exec(container, {
        command: request.argv,
        cwd: request.cwd,
        env: request.env,
        timeoutMs: request.timeoutMs,
        outputLimitBytes: request.outputLimitBytes,
        graceMs: request.graceMs,
        signal: request.signal,
        cutNote: request.cutNote,
        onOutput(stream, text) {
          both.add(Buffer.from(text));
          request.onOutput?.(stream, text);
        },
      });
      if (endsBackground) for (const { pid } of result.background) await sandboxes.endProcess(container, pid);
      return processResult(result, both.finish().text);
    },
    listJobProcesses: async () => [],
    killJobProcesses: async () => [],
  };
}

function processResult(result: ExecResult, output: string): ProcessResult {
  const { exitCode, signal, stdout, stderr, truncatedBytes, durationMs, failure } = result;
  const base = { exitCode, signal, stdout, stderr, output, truncatedBytes, durationMs };
  switch (result.outcome) {
    case "exited":
    case "signaled":
    case "timed-out":
    case "aborted":
      return { ...base, outcome: result.outcome };
    case "disconnected":
    case "not-started": {
      const message = failure?.detail ?? result.outcome;
      const known = failure?.code === "program-missing" || failure?.code === "cwd-missing";
      const reason = known ? failure.code : "unknown";
      return { ...base, outcome: "not-started", error: { reason, message, cause: failure } };
    }
  }
}

/** The entry at a path before and after the job; a file's bytes are in slots on this machine. */
interface LoggedEdit {
  readonly path: string;
  readonly before: LoggedEntry;
  readonly after: LoggedEntry;
}

type LoggedEntry =
  | { readonly kind: "missing" | "directory" | "other" }
  /** Too large to be kept here: reported as changed, and not undone. */
  | { readonly kind: "large"; readonly mode: number; readonly size: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "file"; readonly mode: number; readonly hash: string };

/** Both sides of one job's edits through the view, kept here, so that one edit can be undone; git undoes only the whole task. */
type EditLog = ReturnType<typeof createEditLog>;

function createEditLog(
  view: Pick<View, "look" | "read" | "write" | "remove" | "makeSymlink">,
  folder: JobFolder,
) {
  const first = new Map<string, { readonly standing: LoggedEntry; readonly bytes: Uint8Array | null }>();
  const entryNow = (path: string) => loggedEntryAt(view, path);
  const changes = (): Change[] =>
    [...first].flatMap(([path, { standing }]): Change[] => {
      const kind = changeKind(standing, entryNow(path).standing);
      return kind === null ? [] : [{ path, kind }];
    });
  return {
    note(path: string): void {
      if (!first.has(path)) first.set(path, entryNow(path));
    },
    changes,
    /** The first entry at a path; null when there was none or it is not known. */
    look(path: string): FirstStanding | null {
      const standing = first.get(path)?.standing;
      if (standing === undefined || standing.kind === "missing") return null;
      const kind = standing.kind === "large" ? "file" : standing.kind;
      const size = standing.kind === "large" ? standing.size : (first.get(path)?.bytes?.length ?? 0);
      return { kind, mode: "mode" in standing ? standing.mode : 0o777, size };
    },
    /** The bytes a path had at first; null when it was not a file or is not known. */
    original: (path: string): Uint8Array | null => first.get(path)?.bytes ?? null,
    /** Restores every path that this job changed, or the given ones. */
    putBack(paths: readonly string[] = [...first.keys()].reverse()): void {
      for (const path of paths) {
        const known = first.get(path);
        if (known !== undefined) restoreLoggedEntry(view, path, known.standing, known.bytes);
      }
    },
    keep(): readonly Change[] {
      const changed = changes();
      const edits = changed.map(({ path }, n): LoggedEdit => {
        const before = first.get(path) as { standing: LoggedEntry; bytes: Uint8Array | null };
        const after = entryNow(path);
        if (before.bytes !== null) writeFileSync(opSlotPath(folder, n, "a"), before.bytes);
        if (after.bytes !== null) writeFileSync(opSlotPath(folder, n, "b"), after.bytes);
        return { path, before: before.standing, after: after.standing };
      });
      writeDurably(join(folder.path, "edits.json"), JSON.stringify(edits));
      return changed;
    },
  };
}

type EditSwapOutcome =
  | { readonly ok: true; readonly changes: readonly Change[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] }
  | null;

/** Undoes or redoes a kept job. If any path differs from what the job left, nothing is touched. */
function swapEdits(
  view: Pick<View, "look" | "read" | "write" | "remove" | "makeSymlink">,
  folder: JobFolder,
  direction: "undo" | "redo",
  force: boolean,
): EditSwapOutcome {
  const edits = readJson<readonly LoggedEdit[]>(join(folder.path, "edits.json"));
  if (edits === null) return null;
  const [from, to, side] =
    direction === "undo" ? (["after", "before", "a"] as const) : (["before", "after", "b"] as const);
  const conflicts = edits.flatMap((edit): Conflict[] =>
    isSameEntry(loggedEntryAt(view, edit.path).standing, edit[from])
      ? []
      : [{ path: edit.path, reason: "changed" }],
  );
  if (conflicts.length > 0 && !force) return { ok: false, conflicts };
  const numbered = edits.map((edit, n) => ({ edit, n }));
  for (const { edit, n } of direction === "undo" ? numbered.reverse() : numbered)
    restoreLoggedEntry(
      view,
      edit.path,
      edit[to],
      edit[to].kind === "file" ? readFileSync(opSlotPath(folder, n, side)) : null,
    );
  const changes = edits.flatMap(({ path, ...edit }): Change[] => {
    const kind = changeKind(edit[from], edit[to]);
    return kind === null ? [] : [{ path, kind }];
  });
  return { ok: true, changes };
}

const LARGEST_KEPT = 32 * 1024 ** 2;

function loggedEntryAt(view: Pick<View, "look" | "read">, path: string) {
  const entry = view.look(path);
  if (entry.kind === "symlink") return { standing: entry satisfies LoggedEntry, bytes: null };
  if (entry.kind !== "file") return { standing: { kind: entry.kind } satisfies LoggedEntry, bytes: null };
  if (entry.size > LARGEST_KEPT) {
    const { mode, size } = entry;
    return { standing: { kind: "large", mode, size } satisfies LoggedEntry, bytes: null };
  }
  const bytes = view.read(path);
  const standing: LoggedEntry = { kind: "file", mode: entry.mode, hash: hashHex("sha256", bytes) };
  return { standing, bytes };
}

/** Folders stay: their entries may belong to another process. */
function restoreLoggedEntry(
  view: Pick<View, "look" | "write" | "remove" | "makeSymlink">,
  path: string,
  wanted: LoggedEntry,
  bytes: Uint8Array | null,
): void {
  switch (wanted.kind) {
    case "file":
      if (bytes !== null) view.write(path, bytes, wanted.mode);
      return;
    case "symlink":
      view.makeSymlink(path, wanted.target);
      return;
    case "missing": {
      const { kind } = view.look(path);
      if (kind === "file" || kind === "symlink") view.remove(path);
      return;
    }
    case "directory":
    case "large":
    case "other":
      return;
  }
}

function isSameEntry(x: LoggedEntry, y: LoggedEntry): boolean {
  return JSON.stringify(x) === JSON.stringify(y);
}

function changeKind(before: LoggedEntry, after: LoggedEntry): Change["kind"] | null {
  if (isSameEntry(before, after)) return null;
  if (before.kind === "missing") return "added";
  return after.kind === "missing" ? "deleted" : "modified";
}

interface ContainerTransactionDeps {
  /** Where the jobs of the task are kept, on this machine. */
  readonly storage: string;
  /** The project's folder in the container. */
  readonly root: string;
  /** Its files; `onChange` gets each path before it changes. */
  readonly viewOf: (onChange?: (path: string) => void) => View & WorkspaceFiles;
  readonly processes: ProcessRunner;
  /** Null where it is not known what was cloned: a draft has no baseline there. */
  readonly clone: CloneState | null;
  /** The variables of processes beside the image's own. */
  readonly variables: Readonly<Record<string, string>>;
  readonly now: () => Date;
}

/** Edits are written before a command runs, and its changes are read afterwards. */
function watchProcesses(processes: ProcessRunner, clone: CloneState): ProcessRunner {
  return {
    ...processes,
    async runProcess(request) {
      await clone.flush();
      return processes.runProcess(request).finally(clone.touch);
    },
  };
}

/**
 * Jobs in a container change its files directly; git undoes the task. A job of edits alone keeps what it replaced, so that
 * the last edit of a file can be undone; one that runs processes is of the kind `none`.
 */
function createContainerTransactions(deps: ContainerTransactionDeps): Transactions {
  const { storage, root, viewOf, processes, clone, now } = deps;
  const plain = viewOf();
  const folderOf = (jobId: string) => jobFolder(storage, jobId);
  const setState = (jobId: string, state: JobState) =>
    writeState(folderOf(jobId), { state, at: now().toISOString(), turn: 0, bytes: 0 });

  const logs = new Map<string, EditLog>();
  const logOf = (jobId: string) => {
    const log = logs.get(jobId) ?? createEditLog(plain, folderOf(jobId));
    logs.set(jobId, log);
    return log;
  };

  function open(jobId: string, kind: "direct" | "none"): Transaction {
    const log = logOf(jobId);
    const touched = new Set<string>();
    const view = viewOf((path) => {
      log.note(path);
      touched.add(path);
    });
    return {
      kind,
      undoneByTask: true,
      view,
      directory: root,
      environment: deps.variables,
      processes: clone === null ? processes : watchProcesses(processes, clone),
      takeChanges() {
        const changes = log.changes().filter(({ path }) => touched.has(path));
        touched.clear();
        return changes;
      },
      revert: (paths) => log.putBack(paths),
      rewrite: (path, bytes) => view.write(path, bytes),
      look: (path, when) => (when === "before" ? lookBefore(log, path) : toStanding(plain.look(path))),
      original: (path) => clone?.original(path) ?? log.original(path),
      current: (path) => (plain.look(path).kind === "file" ? plain.read(path) : null),
      repository: null,
      layers: clone === null ? containerLayers(jobId, log) : cloneLayers(clone),
      seal: async () => {
        logs.delete(jobId);
        const edits = log.keep();
        await clone?.see();
        return { changes: clone?.changes() ?? edits, outside: [], notes: [] };
      },
      discard: async () => {
        logs.delete(jobId);
        log.putBack();
      },
    };
  }

  function lookBefore(log: EditLog, path: string): FirstStanding | null {
    const before = clone?.fileAtStart(path) ?? null;
    return before === null ? log.look(path) : { kind: "file", ...before };
  }

  /** Without a clone that is known, checks run over the current files, and the files that they write stay. */
  function containerLayers(jobId: string, log: EditLog): Layers {
    return {
      rest: async () => void (await processes.killJobProcesses(jobId)),
      wake: async () => null,
      changes: () => log.changes(),
      files: plain,
      takeEdits: () => ({ ok: true, edits: [] }),
      openCheck: async ({ over }) =>
        over === "baseline"
          ? { ok: false, message: "the project in a container cannot be viewed without the draft" }
          : { ok: true, check: checkView(processes, async () => {}) },
    };
  }

  /** The tree that the trial runs of one name left; runs of another name start over. */
  let tried: { readonly name: string; readonly tree: string } | null = null;

  /**
   * A draft is the task's clone itself. A check runs over its files, which are reset to the start for a baseline; git
   * restores them afterwards, regardless of what the check wrote. Folders that git ignores stay as checks leave them; programs
   * and settings there, and in the home, are reset to the start for every check that judges.
   */
  function cloneLayers(state: CloneState): Layers {
    return {
      rest: state.see,
      wake: async () => null,
      changes: state.changes,
      files: plain,
      takeEdits: () => ({ ok: true, edits: [] }),
      homes: () => ({ earlier: false, own: [], programs: state.programs()?.changed() ?? [] }),
      async openCheck({ over, scratch, home }) {
        await state.see();
        const programs = over === "baseline" || home === "bare" ? state.programs() : null;
        const putProgramsBack = await programs?.asAtStart();
        if (over === "baseline") await state.become("start");
        else if (scratch !== undefined && tried?.name === scratch) await state.become(tried.tree);
        return {
          ok: true,
          check: checkView(watchProcesses(processes, state), async () => {
            if (scratch !== undefined) tried = { name: scratch, tree: await state.hold() };
            await putProgramsBack?.();
            await state.restore();
          }),
        };
      },
    };
  }

  function checkView(runner: ProcessRunner, close: () => Promise<void>): CheckView {
    return {
      view: plain,
      directory: root,
      environment: deps.variables,
      processes: runner,
      confined: true,
      hasBuilt: false,
      close,
    };
  }

  const swap = (
    jobId: string,
    from: JobState,
    to: JobState,
    direction: "undo" | "redo",
    force: boolean,
  ): SwapOutcome => {
    const folder = folderOf(jobId);
    const state = readState(folder)?.state;
    if (state === undefined) return { status: "refused", reason: "unknown-job" };
    if (state !== from) return { status: "refused", reason: "wrong-state", state };
    const taken = swapEdits(plain, folder, direction, force);
    if (taken === null) return { status: "refused", reason: "evicted" };
    if (!taken.ok) return { status: "conflict", conflicts: taken.conflicts };
    setState(jobId, to);
    return { status: "done", changes: taken.changes, left: [] };
  };

  const commit: Transactions["commit"] = async (jobId) => {
    setState(jobId, "committed");
    return { status: "done", changes: [], left: [] };
  };
  const discard: Transactions["discard"] = async (jobId) => {
    removeSlots(folderOf(jobId));
    setState(jobId, "discarded");
  };

  return {
    // A task has its container to itself.
    hold: (use) => use({ commit, discard }),
    takeTurn: async () => () => {},
    async begin({ jobId, kind, again }) {
      if (again !== true) createJobFolder(storage, jobId);
      setState(jobId, "running");
      return { ok: true, transaction: open(jobId, kind === "direct" ? "direct" : "none") };
    },
    commit,
    undo: async (jobId, { force }) => swap(jobId, "committed", "undone", "undo", force),
    redo: async (jobId, { force }) => swap(jobId, "undone", "committed", "redo", force),
    stage: async (jobId) => setState(jobId, "staged"),
    discard,
    repair: async () => null,
    enforceQuota: async () => [],
  };
}

export interface PlacedWorkspaceDeps extends Pick<WorkspaceDeps, "logger" | "messages" | "mask"> {
  readonly protection: Workspace["protection"];
  /** Where the jobs of the task are kept, on this machine. */
  readonly storage: string;
  readonly config: WorkerConfig;
  readonly root: string;
  readonly processes: ProcessRunner;
}

/** A project whose jobs change it in place: the whole task is undone, not the job. */
function createPlacedWorkspace(
  given: PlacedWorkspaceDeps,
  how: Pick<ContainerTransactionDeps, "viewOf" | "clone" | "variables">,
): Workspace {
  const { protection, storage, config, root, processes, ...rest } = given;
  const ours = jobsOfThisProcess();
  const { now } = ours;
  const deps: WorkspaceDeps = {
    ...rest,
    ...ours,
    root,
    config: { ...config, confine: "off", auto_commit: false },
    staging: { kind: "none", reason: "configured", confinable: true },
    transactions: createContainerTransactions({ storage, root, processes, now, ...how }),
    archive: { ...createJobArchive(storage, now), isFirstOf: () => false },
    policy: { protection, rootNames: [root] },
    processes: async () => processes,
    ownGit: async () => null,
    hostEnv: {},
    isTrusted: () => true,
  };
  return createWorkspace({
    deps,
    storage,
    files: how.viewOf(),
    openDraft: async (deps, request) =>
      (await import("../../application/drafts/open-draft.ts")).openDraft(deps, request),
    ...createJobHolders(storage),
  });
}

export interface CloneWorkspace extends Workspace {
  /** Its current files, for readers outside of a draft. */
  see(): Promise<void>;
  /** To be called when something other than a job wrote or ran something there. */
  touch(): void;
}

/** The clone of a task, on this machine or in a container: its draft is the clone itself, and checks leave no trace in it. */
export function createCloneWorkspace(
  given: PlacedWorkspaceDeps,
  point: ClonePoint,
  more: Readonly<Record<string, string>> = {},
): CloneWorkspace {
  const clone = createCloneState(point);
  const { viewOf, touch, see } = clone;
  // Python knows a compiled file by the second and the size of its source, and a check's files may change within one.
  const variables = {
    ...more,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONPYCACHEPREFIX: `${point.index}.compiled`,
  };
  return { ...createPlacedWorkspace(given, { viewOf, clone, variables }), touch, see };
}

/** The same in a container. */
export function openCloneInContainer(
  {
    sandboxes,
    ...given
  }: Omit<PlacedWorkspaceDeps, "root" | "processes"> & { readonly sandboxes: SandboxManager },
  info: ContainerInfo,
  point: ClonePoint,
): CloneWorkspace {
  const processes = createContainerProcesses(sandboxes, info.container_id);
  return createCloneWorkspace({ ...given, root: info.workspace_path, processes }, point);
}

export interface ContainerWorkspaceDeps extends Omit<PlacedWorkspaceDeps, "root" | "processes"> {
  readonly files: ContainerFileThread;
  readonly sandboxes: SandboxManager;
}

/** A workspace that depends on a connection. */
export interface ContainerWorkspace extends Workspace {
  /** Its files cannot be reached any more. */
  isBroken(): boolean;
  /** Disconnects; the container stays. */
  close(): void;
}

/**
 * The project in a container as a workspace: the same jobs, journalled on this machine, confined by the container, undone by task.
 * Rejects with an `EnvironmentError` when the container's files cannot be reached.
 */
export async function openContainerWorkspace(
  given: ContainerWorkspaceDeps,
  info: ContainerInfo,
): Promise<ContainerWorkspace> {
  const { files, sandboxes, ...rest } = given;
  const root = info.workspace_path;
  const channel = await files.open(info.container_id, root);
  if ("ok" in channel) throw new EnvironmentError(channel.detail);
  const processes = createContainerProcesses(sandboxes, info.container_id);
  const workspace = createPlacedWorkspace(
    { ...rest, root, processes },
    { viewOf: (onChange) => createContainerView(channel, onChange), clone: null, variables: {} },
  );
  return { ...workspace, isBroken: () => channel.isBroken(), close: () => channel.close() };
}
