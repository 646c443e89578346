import type { PatchCommand } from "../../domain/patch/command.ts";
import type { NoteFact } from "../../domain/jobs/note.ts";
import type { JobEvent } from "../ports/journal.ts";
import { LOG } from "../ports/logger.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

/** The first job of its kind says how changes are staged here, and why so. */
export function kindNotes(
  { staging, archive, config }: WorkspaceDeps,
  { kind, processes, isLimited }: Transaction,
): NoteFact[] {
  if (kind === "direct" || !archive.isFirstOf(kind)) return [];
  const notes: NoteFact[] = [{ code: "staging", kind, reason: staging.reason }];
  if (config.confine !== "off" && kind === "copy" && processes === undefined)
    notes.push({ code: "not-confined" });
  if (isLimited === true) notes.push({ code: "limited" });
  return notes;
}

/** What undo cannot reach is named in every result where it may have happened. */
export function notUndoableNote({ kind, undoneByTask }: Transaction): NoteFact {
  if (undoneByTask === true) return { code: "undone-by-task" };
  return kind === "none"
    ? { code: "shell-not-undoable" }
    : { code: "not-covered", what: ["network", "daemons", "other-folders"] };
}

export function logCommand(
  { logger }: WorkspaceDeps,
  jobId: string,
  event: Extract<JobEvent, { type: "command_finished" }>,
  { type, action, target }: PatchCommand,
): void {
  const fields = { job_id: jobId, command_index: event.index, type, action, target };
  if (event.success) logger.info("worker", ...LOG.commandExecuted, { ...fields, output: event.output });
  else logger.error("worker", ...LOG.commandFailed, { ...fields, error: event.error });
}
