import type { ProcessRunner } from "../../../application/ports/process.ts";
import type {
  JobState,
  SwapOutcome,
  Transaction,
  Transactions,
} from "../../../application/ports/transaction.ts";
import { standingOf } from "../folder/standing.ts";
import { createJobFolder, jobFolder, readState, removeSlots, writeState } from "../transaction/job-folder.ts";
import { createContainerView } from "./container-view.ts";
import { createEditLog, swapEdits } from "./edit-log.ts";
import type { FileChannel } from "./file-channel.ts";

export interface ContainerTransactionParts {
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
export function createContainerTransactions(parts: ContainerTransactionParts): Transactions {
  const { storage, root, channel, processes, now } = parts;
  const plain = createContainerView(channel);
  const folderOf = (jobId: string) => jobFolder(storage, jobId);
  const setState = (jobId: string, state: JobState) =>
    writeState(folderOf(jobId), { state, at: now().toISOString(), turn: 0, bytes: 0 });

  function open(jobId: string, kind: "direct" | "none"): Transaction {
    const log = createEditLog(plain, folderOf(jobId));
    const touched = new Set<string>();
    const view = createContainerView(channel, (path) => {
      log.note(path);
      touched.add(path);
    });
    return {
      kind,
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
      look: (path, when) => (when === "before" ? log.look(path) : standingOf(plain.look(path))),
      original: (path) => log.original(path),
      current: (path) => (plain.look(path).kind === "file" ? plain.read(path) : null),
      repository: null,
      seal: async () => ({ changes: log.keep(), outside: [], notes: [] }),
      discard: async () => log.putBack(),
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
    async begin({ jobId, kind }) {
      createJobFolder(storage, jobId);
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
