import {
  type RewindJob,
  type RewindMessage,
  type RewindPlan,
  rewindJobs,
  rewindMessages,
} from "../jobs/rewind-plan.ts";

const files = (count: number) => (count === 1 ? "1 file" : `${count} files`);
const to = (number: number) => (number === 0 ? "the beginning" : `message ${number}`);
const parts = (lines: readonly string[]) => lines.filter((line) => line !== "").join("\n");
const swapped = (jobs: readonly RewindJob[], again: readonly RewindJob[]) => [
  jobs.length > 0 ? "Taken back" : again.length > 0 ? "" : "No change",
  rewindJobs(jobs),
  again.length > 0 ? "Applied" : "",
  rewindJobs(again),
];

/** `/rewind`. */
export const rewind = {
  rewindList: (messages: readonly RewindMessage[]) =>
    `${rewindMessages(messages, files)}\n\nTo go back to one of them: /rewind N (0 is the beginning). What came after it is listed first.`,
  rewindPlan: ({ number, messages, jobs, again }: RewindPlan): string =>
    parts([
      `Back to ${to(number)}. ${jobs.length > 0 ? "This is taken back, all of it or nothing:" : (again ?? []).length > 0 ? "All of it or nothing." : "No file changes."}`,
      rewindJobs(jobs),
      (again ?? []).length === 0 ? "" : "This is brought in again:",
      rewindJobs(again ?? []),
      messages.length === 0 ? "" : "This is forgotten:",
      rewindMessages(messages, files),
      `To do it: /rewind ${number} --yes`,
    ]),
  rewindDone: ({ number, messages, jobs, again }: RewindPlan): string =>
    parts([
      ...swapped(jobs, again ?? []),
      `The conversation is at ${to(number)} again; messages forgotten: ${messages.length}. To bring all of it in again: /rewind redo`,
    ]),
  rewindRedone: (again: readonly RewindJob[], jobs?: readonly RewindJob[] | null): string =>
    parts([...swapped(jobs ?? [], again), "What was forgotten is remembered again."]),
  rewindStopped: (left: readonly string[]): string =>
    left.length === 0
      ? "So nothing of it was done: files and conversation are as they were."
      : `What was swapped before could not be put back, because it changed meanwhile: ${left.join(", ")}`,
  rewindGone: (jobs: readonly string[]) =>
    `Nothing was taken back: the undo record of ${jobs.join(", ")} is gone, so that not everything could be.`,
  rewindEarlier:
    "Only messages of this conversation are listed. For those before it: /resume goes back to the conversation before, and /rewind then lists them too; a single earlier change: /jobs, then /undo JOB.",
  rewindNothing: "There is nothing to go back from.",
  rewindNoneBack: "There is no rewind in this session to bring in again.",
  rewindUsage: (most: number) =>
    `/rewind N: a message from 0 (the beginning) to ${most}. /rewind lists them.`,
  rewindLabel: "Rewind",
  rewindRedoLabel: "Bring it in again",
};
