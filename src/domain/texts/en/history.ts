export const historyTexts = {
  whyUsage: "Name a line or a removed text: picoclaw why src/app.ts:12, or picoclaw why --removed 'text'",
  noFile: (path: string) => `There is no file ${path} in the workspace.`,
  notText: (path: string) => `${path} is not a text file.`,
  noLine: (path: string, lines: number) => `${path} has ${lines} ${lines === 1 ? "line" : "lines"}.`,
  writtenBy: (job: string, time: string) => `Written by ${job}, ${time}`,
  removedBy: (path: string, line: number, job: string, time: string) =>
    `${path}:${line} was removed by ${job}, ${time}`,
  neverRemoved: (text: string) => `No stored job removed a line with: ${text}`,
  request: "Request:",
  by: "By:",
  plan: "Plan:",
  checks: "Checks:",
  notChecked: "none ran",
  exit: (code: number | null) =>
    code === 0 ? "passed" : code === null ? "did not finish" : `exit code ${code}`,
  replaced: "It replaced:",
  replacedNothing: "It replaced nothing.",
  replacedBy: "Replaced by:",
  renamedFrom: (names: readonly string[]) => `The file was called ${names.join(", before that ")}.`,
  byHand: (after: string | null, before: string | null): string =>
    `Changed outside of PicoClaw${after === null ? "" : `, after ${after}`}${before === null ? "" : ` and before ${before}`}. Who did it and why is not known.`,
  gone: (job: string) =>
    `${job} changed this file, but its originals are no longer kept (undo quota), so the line cannot be traced further back.`,
  commit: (commit: string, author: string, time: string, subject: string) =>
    `From commit ${commit}, ${author}, ${time}: ${subject}`,
  older: "The line is older than every stored job, and no commit contains it.",
  stateGone: (path: string) =>
    `${path} can no longer be shown as it was: the originals of a later job are not kept any more.`,
  notInState: (path: string, job: string) => `There was no file ${path} after ${job}.`,
  notStanding: (job: string) => `${job} is not part of the workspace (undone, a preview, or not applied).`,
  noJobs: "No job has changed this workspace yet.",
  badRange: (text: string) => `Not a range of jobs: ${text}. Example: picoclaw diff job_A..job_B`,
  handEdits: (paths: readonly string[], more: number) =>
    `Also changed outside of PicoClaw in between: ${paths.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
  bisectUsage: "Give the command that fails: picoclaw bisect -- npm test",
  bisectStart: (jobs: number) =>
    `Looking through ${jobs} ${jobs === 1 ? "job" : "jobs"}; the workspace is not touched.`,
  probe: (after: string | null, verdict: "passes" | "fails" | "skipped"): string =>
    `  ${{ passes: "✓", fails: "✗", skipped: "?" }[verdict]} ${after === null ? "before the oldest job" : `after ${after}`}`,
  found: (job: string, probes: number) => `The command fails since ${job} (${probes} runs).`,
  foundByHand: (paths: readonly string[], after: string) =>
    `The command fails since a change outside of PicoClaw, made after ${after}: ${paths.join(", ")}`,
  skipped: (jobs: readonly string[]) =>
    `These could not be judged (exit code 125) and may be the first instead: ${jobs.join(", ")}`,
  undoHint: (job: string) => `To undo it around later edits: picoclaw undo ${job}`,
  passesNow: "The command passes in the workspace as it is. There is nothing to find.",
  failsBefore: (jobs: number) =>
    `The command already fails before the oldest of the ${jobs} ${jobs === 1 ? "job" : "jobs"} whose originals are kept.`,
  cannotRun: (message: string) => `The command could not be run: ${message}`,
};
