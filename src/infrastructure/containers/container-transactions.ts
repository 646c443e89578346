import type { ProcessRunner } from "../../application/ports/process.ts";
import type {
  JobState,
  Layers,
  SwapOutcome,
  Transaction,
  Transactions,
} from "../../application/ports/jobs-transaction.ts";
import { toStanding } from "../engine/standing.ts";
import { createJobFolder, jobFolder, readState, removeSlots, writeState } from "../engine/job-folder.ts";
import { createContainerView } from "./container-view.ts";
import { createEditLog, swapEdits } from "./container-workspace.ts";
import type { FileChannel } from "./container-files.ts";

export interface ContainerTransactionDeps {
  /** Where the jobs of the task are kept, on this machine. */
  readonly storage: string;
  /** The project's folder in the container. */
  readonly root: string;
  readonly channel: FileChannel;
  readonly processes: ProcessRunner;
  readonly now: () => Date;
}

/**
 * Jobs in a container. They happen at once, in the container's own files: the unit of undo there is the task, by git.
 * A job of edits alone keeps what it replaced, so that the last edit of a file can be taken back, and is rolled back
 * when it is aborted; one that runs processes is of the kind `none` and says so.
 */
export function createContainerTransactions(parts: ContainerTransactionDeps): Transactions {
  const { storage, root, channel, processes, now } = parts;
  const plain = createContainerView(channel);
  const folderOf = (jobId: string) => jobFolder(storage, jobId);
  const setState = (jobId: string, state: JobState) =>
    writeState(folderOf(jobId), { state, at: now().toISOString(), turn: 0, bytes: 0 });

  const logs = new Map<string, ReturnType<typeof createEditLog>>();
  const logOf = (jobId: string) => {
    const log = logs.get(jobId) ?? createEditLog(plain, folderOf(jobId));
    logs.set(jobId, log);
    return log;
  };

  function open(jobId: string, kind: "direct" | "none"): Transaction {
    const log = logOf(jobId);
    const touched = new Set<string>();
    const view = createContainerView(channel, (path) => {
      log.note(path);
      touched.add(path);
    });
    return {
      kind,
      undoneByTask: true,
      view,
      directory: root,
      environment: {},
      processes,
      takeChanges() {
        const changes = log.changes().filter(({ path }) => touched.has(path));
        touched.clear();
        return changes;
      },
      revert: (paths) => log.putBack(paths),
      rewrite: (path, bytes) => view.write(path, bytes),
      look: (path, when) => (when === "before" ? log.look(path) : toStanding(plain.look(path))),
      original: (path) => log.original(path),
      current: (path) => (plain.look(path).kind === "file" ? plain.read(path) : null),
      repository: null,
      layers: containerLayers(jobId, log),
      seal: async () => {
        logs.delete(jobId);
        return { changes: log.keep(), outside: [], notes: [] };
      },
      discard: async () => {
        logs.delete(jobId);
        log.putBack();
      },
    };
  }

  /** A draft is the task's clone itself: checks run in it, and what they write is the task's to leave out. */
  function containerLayers(jobId: string, log: ReturnType<typeof createEditLog>): Layers {
    return {
      rest: async () => void (await processes.killJobProcesses(jobId)),
      wake: async () => null,
      changes: () => log.changes(),
      files: plain,
      takeEdits: () => ({ ok: true, edits: [] }),
      openCheck: async ({ over }) =>
        over === "baseline"
          ? { ok: false, message: "a container has no view of its project without the draft" }
          : {
              ok: true,
              check: {
                view: plain,
                directory: root,
                environment: {},
                processes,
                confined: true,
                hasBuilt: false,
                close: async () => {},
              },
            },
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

  return {
    async begin({ jobId, kind, again }) {
      if (again !== true) createJobFolder(storage, jobId);
      setState(jobId, "running");
      return { ok: true, transaction: open(jobId, kind === "direct" ? "direct" : "none") };
    },
    async commit(jobId) {
      setState(jobId, "committed");
      return { status: "done", changes: [], left: [] };
    },
    undo: async (jobId, { force }) => swap(jobId, "committed", "undone", "undo", force),
    redo: async (jobId, { force }) => swap(jobId, "undone", "committed", "redo", force),
    stage: async (jobId) => setState(jobId, "staged"),
    async discard(jobId) {
      removeSlots(folderOf(jobId));
      setState(jobId, "discarded");
    },
    repair: async () => null,
    enforceQuota: async () => [],
  };
}
