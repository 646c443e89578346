/** Texts of the list of what runs now. Nothing here ends in a newline. */
export const runningTexts = {
  none: "Nothing is running.",
  running: (count: number) => `Running now: ${count}`,
  header: { id: "Id", time: "Time", from: "From", title: "Title", step: "Step", latest: "Latest" },
  seconds: (count: number) => `${count} s`,
  attempt: (attempt: number) => `attempt ${attempt}`,
  command: (command: number, commands: number | null) =>
    commands === null ? `command ${command}` : `command ${command}/${commands}`,
  more: (rest: number) => `… and ${rest} more`,
  /** In the place of a source. */
  agent: (number: number, writes: boolean) => `sub-agent ${number}${writes ? "" : ", reads only"}`,
  process: (name: string) => `process ${name}`,
  agentUsed: (tokens: number) => `${tokens} tokens`,
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
    merged: (path: string, by: string | null) =>
      by === null ? `merged with a change from outside: ${path}` : `merged with ${by}: ${path}`,
    staged: "kept as a preview",
    committed: "applied",
    conflict: (paths: string) => `conflict: ${paths}`,
    rolledBack: (reason: string) => (reason === "" ? "rolled back" : `rolled back: ${reason}`),
    undone: "undone",
    redone: "applied again",
    evicted: "undo data removed",
    agentEnded: (number: number, end: "done" | "failed" | "stopped") =>
      `sub-agent ${number} ${end === "done" ? "is done" : end === "failed" ? "failed" : "was stopped"}`,
  },
};
