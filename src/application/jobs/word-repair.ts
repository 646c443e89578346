import type { Messages } from "../../domain/texts/messages.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { RepairedJob } from "../ports/jobs-transaction.ts";
import { conflictsOfStuck, repairNotes } from "./repair-notes.ts";
import { describeConflicts } from "./describe-conflict.ts";
import { wordNote } from "./word-notes.ts";

/** What came of a swap that had been cut off. */
export function wordRepair(messages: Messages, repaired: RepairedJob): string {
  return repaired.outcome === "stuck"
    ? describeConflicts(messages, repaired.jobId, conflictsOfStuck(repaired), "terminal")
    : repairNotes(repaired)
        .map((note) => wordNote(messages, note))
        .join("\n");
}

/** Beside the status of a job in a list: what was cut off, or how that was settled; else empty. */
export function wordInterruption(
  messages: Messages,
  { interruptions, standsRepaired }: Pick<StoredJob, "interruptions" | "standsRepaired">,
): string {
  const last = interruptions?.at(-1);
  if (last === undefined || (last.outcome !== "open" && standsRepaired !== true)) return "";
  return ` (${messages.interruption(last)})`;
}
