import type { PatchCommand } from "../../domain/patch/command.ts";
import type { JobEvent } from "../ports/journal.ts";
import { LOG } from "../ports/logger.ts";
import type { Transaction } from "../ports/transaction.ts";
import type { WorkspaceParts } from "./workspace-parts.ts";

/** The first job of its kind says how changes are staged here, and why so. */
export function kindNotes(
  { staging, archive, messages, config }: WorkspaceParts,
  { kind, processes }: Transaction,
): string[] {
  if (kind === "direct" || !archive.isFirstOf(kind)) return [];
  const notes = [messages.transactionKind(kind, staging.reason)];
  if (config.confine !== "off" && kind === "copy" && processes === undefined)
    notes.push(messages.notConfined);
  return notes;
}

/** What undo cannot reach is named in every result where it may have happened. */
export function whatStays({ messages }: WorkspaceParts, { kind }: Transaction): string {
  return kind === "none"
    ? messages.shellNotUndoable
    : messages.notCovered(["network", "daemons", "other-folders"]);
}

export function logCommand(
  { logger }: WorkspaceParts,
  jobId: string,
  event: Extract<JobEvent, { type: "command_finished" }>,
  { type, action, target }: PatchCommand,
): void {
  const fields = { job_id: jobId, command_index: event.index, type, action, target };
  if (event.success) logger.info("worker", ...LOG.commandExecuted, { ...fields, output: event.output });
  else logger.error("worker", ...LOG.commandFailed, { ...fields, error: event.error });
}
