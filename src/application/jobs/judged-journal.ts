import type { JobEvent, JournalLine } from "../ports/journal.ts";

/** The journal with each command's result as the last judgement left it: a command can fail after it has finished. */
export function validatedJournal(lines: readonly JournalLine[]): JournalLine[] {
  const judged: JournalLine[] = [];
  for (const line of lines) {
    const { event } = line;
    if (event.type !== "command_judged") {
      judged.push(line);
      continue;
    }
    const at = judged.findLastIndex((one) => isFinished(one.event) && one.event.index === event.index);
    const finished = judged[at];
    if (finished === undefined || !isFinished(finished.event)) continue;
    const { success, error } = event;
    judged[at] = { ...finished, event: { ...finished.event, success, error } };
  }
  return judged;
}

function isFinished(event: JobEvent): event is Extract<JobEvent, { type: "command_finished" }> {
  return event.type === "command_finished";
}
