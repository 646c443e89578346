import { capitalize, wordRollbackBy } from "../format-text.ts";

const CHATS: Readonly<Record<string, string>> = {
  cli: "chat in the terminal",
  web: "chat in the console",
  line: "chat in LINE",
  acp: "chat in an editor",
  pr: "pull request",
  commit: "commit",
};

const SOURCES: Readonly<Record<string, string>> = {
  cli: "command line",
  web: "console",
  api: "API",
  library: "library",
  task: "task file",
  solve: "issue",
  undo: "undo",
  redo: "redo",
  agent: "sub-agent",
};

export const wordRollback = wordRollbackBy({
  answered: "it was answered in words; nothing was to be changed",
  unexplained: "the coder's answer has neither a patch nor the line that says why none is needed",
  unanswered: "the model did not answer",
  unusable: "the answer could not be used",
  discarded: "it was discarded",
  withdrawn: "it was stopped before it was applied",
  aborted: "it was stopped",
  unparsed: "its patch could not be read",
  unread: "its patch could not be read",
  doubts: "its edits might have lost code that the coder had not seen",
  failing: "its own commands fail",
  "still-red": "a test that it answers for still fails",
  "new-failing": "a new test fails",
  conflict: "others changed the same lines",
});

/** The origin of a job, by its recorded source. */
function wordSource(source: string): string {
  const [kind = "", name = ""] = source.split(":");
  if (kind === "chat") return CHATS[name] ?? `chat in ${capitalize(name)}`;
  return kind === "tool" ? `tool ${name}` : (SOURCES[kind] ?? source);
}

export const runningTexts = {
  none: "Nothing is running.",
  running: (count: number) => `Running now: ${count}`,
  header: { id: "Id", time: "Time", from: "From", title: "Title", step: "Step", latest: "Latest" },
  seconds: (count: number) => `${count} s`,
  attempt: (attempt: number) => `attempt ${attempt}`,
  command: (command: number, commands: number | null) =>
    commands === null ? `command ${command}` : `command ${command}/${commands}`,
  more: (rest: number) => `… and ${rest} more`,
  source: wordSource,
  whyEnded: wordRollback,
  /** In the place of a source. */
  agent: (number: number, writes: boolean) => `sub-agent ${number}${writes ? "" : ", reads only"}`,
  process: (name: string) => `process ${name}`,
  doing: { asking: "asks", running: "runs its patch", checking: "checks" },
  stopHint: "To end one: picoclaw stop ID",
  leaveHint: "q quits; what is running continues",
  latest: {
    began: "started",
    check: (command: string, isBaseline: boolean) =>
      `check${isBaseline ? " of the state before" : ""}: ${command}`,
    exit: (code: number | null) => (code === null ? "did not end by itself" : `exit ${code}`),
    autoCommit: (moment: "before" | "after", commit: string | null) =>
      commit === null ? `nothing to commit ${moment} the job` : `committed ${commit} ${moment} the job`,
    autoCommitFailed: (error: string) => `the commit failed: ${error}`,
    replaced: (path: string) => `replaced a change that others made meanwhile: ${path}`,
    merged: (path: string, by: string | null) =>
      by === null ? `merged with a change from outside: ${path}` : `merged with ${by}: ${path}`,
    answerSkipped: (parts: string) => `not carried out from the coder's answer: ${parts}`,
    staged: "kept as a preview",
    committed: "applied",
    conflict: (paths: string) => `conflict: ${paths}`,
    rolledBack: (reason: string) => (reason === "" ? "rolled back" : `rolled back: ${wordRollback(reason)}`),
    undone: "undone",
    redone: "applied again",
    evicted: "undo data removed",
    agentEnded: (number: number, end: "done" | "failed" | "stopped") =>
      `sub-agent ${number} ${end === "done" ? "is done" : end === "failed" ? "failed" : "was stopped"}`,
  },
};
