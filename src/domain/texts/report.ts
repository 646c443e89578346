import type { JobStatus } from "../jobs/job-status.ts";
import { listPaths } from "./list-paths.ts";
import { namePaths } from "./name-paths.ts";
import { sealedOtherwise } from "./sealed.ts";

const commands = (count: number) => (count === 1 ? "1 command" : `${count} commands`);

const changedPaths = (count: number) => (count === 1 ? "1 changed path is" : `${count} changed paths are`);

/** The first line of every report: what became of a job. */
function status(is: JobStatus, failed: number): string {
  switch (is) {
    case "applied":
      return "Applied";
    case "partly":
      return `Applied, ${commands(failed)} failed`;
    case "preview":
      return "Preview, nothing applied";
    case "worse":
      return "Not applied: checks got worse";
    case "unended":
      return "Not applied: checks did not end";
    case "stopped":
      return "Stopped, nothing changed";
    case "no-change":
      return failed > 0 ? `No change, ${commands(failed)} failed` : "No change";
    case "taken-back":
      return "Taken back";
    case "refused":
      return "Refused";
    case "running":
      return "Running";
    case "interrupted":
      return "Interrupted";
  }
}

/** What a report of a job begins with and ends in. Nothing here ends in a newline. */
export const reportTexts = {
  status,
  sealedOtherwise,
  /** In place of the paths that git ignores. */
  ignored: (count: number, places: readonly string[]) =>
    `${count} ignored by git: ${namePaths(places, places.length, (rest) => `and ${rest} more`)}`,
  /** The same line where it stands alone, above a whole report. */
  headline: status,
  counted: (succeeded: number, total: number) => `(${succeeded}/${total} commands succeeded)`,
  skipped: (paths: readonly string[]) => `Skipped, because it is protected: ${paths.join(", ")}`,
  plan: "[Plan]",
  result: "[Result]",
  outputOf: (command: string) => `Output (${command}):`,
  undoHint: {
    terminal: (name: string) => `To take it back: picoclaw undo ${name}`,
    chat: (name: string) => `To take it back: /undo ${name}`,
  },
  redoHint: {
    terminal: (name: string) => `To bring it in again: picoclaw redo ${name}`,
    chat: (name: string) => `To bring it in again: /redo ${name}`,
  },
  /** How to go on, where the terminal of another machine is the one to ask. */
  onMachine: (hint: string, machine: string) => `${hint} (on ${machine})`,
  forceHint: {
    terminal: (action: string, name: string) => `To overwrite them: picoclaw ${action} ${name} --force`,
    chat: (action: string, name: string) => `To overwrite them: /${action} ${name} --force`,
  },
  /** One line a job, below the status. */
  verb: {
    undo: (jobId: string) => `${jobId} was taken back.`,
    redo: (jobId: string) => `${jobId} was brought in again.`,
    apply: (jobId: string) => `The preview ${jobId} was applied.`,
    stop: (jobId: string) => `${jobId} was stopped.`,
    discard: (jobId: string) => `The preview ${jobId} was thrown away. Nothing else changed.`,
  },
  inTheWay: (action: string, jobId: string, list: readonly string[]) =>
    `Nothing was ${action === "redo" ? "brought in again" : "taken back"}, because these were changed after ${jobId}:${listPaths(list, (rest) => `… and ${rest} more`)}`,
  previewHint: {
    terminal: (jobId: string, changes: number) =>
      `${changedPaths(changes)} staged. To apply exactly this: picoclaw apply --job ${jobId}\nTo throw it away: picoclaw discard ${jobId}`,
    chat: (jobId: string, changes: number) =>
      `${changedPaths(changes)} staged. To apply exactly this: /apply ${jobId}   To see it: /diff ${jobId}   To throw it away: /discard ${jobId}`,
  },
};
