import type { CommandResult } from "../../domain/jobs/result.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { Conflict, SealedChanges, SwapOutcome } from "../ports/jobs-transaction.ts";
import type { ExecuteRequest } from "./execution.ts";

/** How a job came to its end. */
export interface JobEnd {
  readonly results: readonly CommandResult[];
  readonly gitCommit: string | null;
  readonly ended: readonly string[];
  readonly sealed: SealedChanges;
  readonly swapped: SwapOutcome | null;
  readonly keptAfterFailure: boolean;
}

/** The journal tells the story; what a file holds is in the undo record, and need not be kept twice. */
export function forJournal(event: JobEvent): JobEvent {
  if (event.type !== "command_started" || event.command.content.length <= JOURNAL_CONTENT) return event;
  const content = cutMiddle(event.command.content, JOURNAL_CONTENT);
  return { ...event, command: { ...event.command, content } };
}

const JOURNAL_CONTENT = 16_384;

export function swapConflicts(outcome: SwapOutcome): readonly Conflict[] {
  if (outcome.status === "conflict") return outcome.conflicts;
  if (outcome.status !== "refused") return [];
  const { reason, heldBy } = outcome;
  return [{ path: ".", reason: "changed", by: heldBy === undefined ? reason : `${reason}: ${heldBy}` }];
}

/** Whether a job with these results is to be taken back, where it can be. */
export function wantsRollback(
  { signal, atomic, autoCommit, stopOnError }: ExecuteRequest,
  results: readonly CommandResult[],
): boolean {
  const failed = results.some(({ success }) => !success);
  return signal.aborted || (failed && (atomic || (autoCommit && stopOnError)));
}

/** The seal found what cannot be committed, and staged nothing. */
export function isUnstaged({ noText, foreignOwner }: SealedChanges): boolean {
  return noText !== undefined || foreignOwner !== undefined;
}
