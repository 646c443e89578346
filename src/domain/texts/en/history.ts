import type { NotACase } from "../../history/case.ts";
import { jobOrder, many, type WordTable, wordBy } from "../format-text.ts";
import { runningTexts } from "./jobs-running.ts";

const causes: WordTable<"code", NotACase> = {
  "no-tests": "adds no tests",
  "no-sources": "changes no source files",
  "no-request": "no request that describes the change",
  "too-large": ({ files }) => `changes ${files} files`,
  "unknown-names": ({ names }) =>
    `the request does not mention names that the tests need: ${names.slice(0, 5).join(", ")}`,
  gone: "the files before it are no longer kept",
  "changed-by-hand": "files were changed by hand between its jobs",
  "no-runner": "no test command is known",
  "green-before": "its tests pass without the change",
  "red-after": ({ output }) =>
    `its tests fail here even with the change (${output}); once this is fixed: picoclaw compare cases add ID`,
  "no-service": ({ output }) =>
    `its tests need the network, a database or another service, which no case has: ${output}`,
  endless: ({ seconds }) =>
    `its tests did not end within ${seconds} s (checks.timeout); with a longer limit: picoclaw compare cases add ID`,
  flaky: "its tests pass and fail by chance",
  "cannot-run": ({ output }) => `its tests could not be run: ${output.split("\n").at(-1) ?? ""}`,
  dropped: "dropped by you",
  same: ({ id }) => `the change of ${id}`,
};
const notACase = wordBy("code", causes, ({ code }) => `the reason was written by a newer PicoClaw (${code})`);

export const historyTexts = {
  whyUsage: "Name a line or a removed text: picoclaw why src/app.ts:12, or picoclaw why --removed 'text'",
  noFile: (path: string) => `There is no file ${path} in the workspace.`,
  notText: (path: string) => `${path} is not a text file.`,
  noLine: (path: string, lines: number) => `${path} has ${many(lines, "line")}.`,
  writtenBy: (job: string, time: string) => `Written by ${job}, ${time}`,
  removedBy: (path: string, line: number, job: string, time: string) =>
    `${path}:${line} was removed by ${job}, ${time}`,
  neverRemoved: (text: string) => `No stored job removed a line with: ${text}`,
  request: "Request:",
  by: "By:",
  source: runningTexts.source,
  plan: "Plan:",
  planUnchecked: "Plan (the coder's own words, not a result):",
  checks: "Checks:",
  notChecked: "none ran",
  exit: (code: number | null) =>
    code === 0 ? "passed" : code === null ? "did not finish" : `exit code ${code}`,
  tests: (passed: number, failed: number) =>
    failed > 0 ? `${failed} failed, ${passed} passed` : `${passed} passed`,
  attempts: "Attempts:",
  number: (count: number) => count.toLocaleString("en-US"),
  tokens: (count: string) => `${count} tokens`,
  statsDays: (most: number) => `The days are a number from 1 to ${most}.`,
  statsNone: (days: number) => `No model was asked and no job ran in the last ${days} days.`,
  /** In the order of `figureHeader`. */
  statsTotal: (days: number, [requests, tokens, cost, jobs, firstTry, undone]: readonly string[]) =>
    `Last ${days} days: ${requests} ${requests === "1" ? "request" : "requests"}, ${tokens} tokens, ${cost}. Jobs: ${jobs}, green at the first attempt ${firstTry}, undone ${undone}.`,
  statsDay: "Day",
  statsModel: "Model",
  noModel: "(no model)",
  figureHeader: ["Day", "Requests", "Tokens", "Cost", "Jobs", "First try", "Undone"],
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
  notStandingHere:
    "This job is not part of the workspace (undone, a preview, or not applied), so its lines cannot be followed.",
  notStanding: (job: string) => `${job} is not part of the workspace (undone, a preview, or not applied).`,
  noJobs: "No job has changed this workspace yet.",
  badRange: (jobId: string) => `${jobId} is not in effect, so there is no state after it to compare.`,
  backwards: ([from = "", to = ""]: readonly string[]) =>
    `${from} is later than ${to}, so this shows how to get back from ${from} to ${to}. The other way round: picoclaw diff ${`${to}..${from}`.replaceAll("#", "")}`,
  handEdits: (paths: readonly string[], more: number) =>
    `Also changed outside of PicoClaw in between: ${paths.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
  bisectUsage: "Give the command that fails: picoclaw bisect -- npm test",
  bisectStart: (jobs: number) => `Looking through ${many(jobs, "job")}; the workspace is not touched.`,
  probe: (after: string | null, verdict: "passes" | "fails" | "skipped"): string =>
    `  ${{ passes: "✓", fails: "✗", skipped: "?" }[verdict]} ${after === null ? "before the oldest job" : `after ${after}`}`,
  found: (job: string, probes: number) => `The command fails since ${job} (${probes} runs).`,
  foundByHand: (paths: readonly string[], after: string) =>
    `The command fails since a change outside of PicoClaw, made after ${after}: ${paths.join(", ")}`,
  skipped: (jobs: readonly string[]) =>
    `These could not be judged (exit code 125) and may be the first instead: ${jobs.join(", ")}`,
  undoHint: (job: string) => `To undo it around later edits: ${jobOrder("terminal", "undo", job)}`,
  passesNow: "The command passes in the workspace as it is. There is nothing to find.",
  failsBefore: (jobs: number) =>
    `The command already fails before the oldest of the ${many(jobs, "job")} whose originals are kept.`,
  cannotRun: (message: string) => `The command could not be run: ${message}`,
  compareUsage:
    "Name what to compare: picoclaw compare coder1 coder3, a model (claude/claude-sonnet-5-5) or an agent (claude-code). Also: picoclaw compare cases",
  sameContestant: (word: string) =>
    `${word} is named twice: a contestant cannot be compared with itself. To repeat the plays: --repeat 3`,
  badContestant: (word: string) =>
    `Not a contestant: ${word}. Use coder1 to coder3, PROVIDER/MODEL of a configured provider, or claude-code, codex-cli, gemini-cli (acp needs the network, which no case has); settings follow a comma: coder1,coder.attempts=2`,
  noPlays: {
    "not-confined":
      "Nothing can be compared here: without a sandbox, a contestant could read the answers. picoclaw doctor says what is missing.",
    "own-checkout":
      "Nothing can be compared here: PicoClaw itself runs from this folder, so its sandbox has to show it. Use an installed PicoClaw, or a clone of the project.",
  },
  compareBusy: "The same comparison is running in another process.",
  noCases: "No case counts here yet. To see why: picoclaw compare cases",
  caseCount: (cases: number, others: number) =>
    `${many(cases, "case")}${others === 0 ? "." : `; ${others} other ${others === 1 ? "change does" : "changes do"} not count:`}`,
  issuesRead: (issues: number | null) =>
    issues === null
      ? "Issues were not read: the project's forge cannot be asked (remote, forges.*.token)."
      : `${issues} new ${issues === 1 ? "issue" : "issues"} read.`,
  caseUnseen: "not tried yet",
  caseSeen: (seconds: number) => `seen red and green, ${seconds.toFixed(1)} s`,
  caseUnknown: (id: string) => `There is no case or change ${id}. picoclaw compare cases lists them.`,
  caseChanged: { add: "added", drop: "dropped", edit: "request changed" },
  notACase,
  seeing: (title: string, why: string | null, found: number) =>
    why === null ? `  ✓ ${title} (${found})` : `  – ${title}: ${why}`,
  estimate: (plays: number, usd: number | null, seconds: number | null, budget: number) =>
    `${many(plays, "play")}; ${usd === null ? "cost not known yet" : `about $${usd.toFixed(2)}`}, ${seconds === null ? "time not known yet" : `about ${Math.ceil(seconds / 60)} min`}. It stops at $${budget.toFixed(2)} (--budget).`,
  played: (contestant: string, title: string, solved: boolean, left: number, usd: number) =>
    `  ${solved ? "✓" : "✗"} ${contestant}: ${title} (${left} left, $${usd.toFixed(2)})`,
  notPlayed: (contestant: string, id: string, failure: string) =>
    `  ! ${contestant}: ${id} not played: ${failure}`,
  playFailure: {
    "no-judge": "the hidden tests could not be run",
    budget: "its share of the budget was spent before it ended (--budget)",
  },
  cutOff: (failure: string) => `its model's server failed in the middle of the work (${failure})`,
  givenUp: (contestant: string, failures: number) =>
    `  ! ${contestant} is left out from here on: it failed ${failures} times in a row.`,
  compareHeader: "contestant|cases|solved|95 %|verified|false done|requests|tokens|cost|time".split("|"),
  costUnknown: "?",
  compareEnd: {
    finished: "",
    missing: "Some plays could not be made. The same command tries them again.",
    budget: "Stopped at the budget. The same command continues it.",
    stopped: "Stopped. The same command continues it.",
    "no-cases": "",
  },
  pairUnknown: (one: string, other: string, cases: number) =>
    `${many(cases, "case")} cannot tell ${one} and ${other} apart.`,
  pairKnown: (better: string, worse: string, more: number, less: number, p: number) =>
    `${better} is better than ${worse}: it alone solved ${more}, ${worse} alone ${less} (p = ${p.toFixed(3)}).`,
  drift: (run: string, shares: string) => `Earlier (${run}): ${shares}`,
  adopted: (name: string, solved: number, plays: number, share: string, file: string) =>
    `${name} first: ${solved} of ${plays} of your cases${share}. Written to ${file} (roles.default_coder, roles.measured, coder.escalate).`,
  adoptedShare: (part: number) => ` at ${Math.round(part * 100)} % of the cost`,
  notAdopted:
    "Nothing was written: the measurement does not support an order yet. More cases, or --repeat, may.",
  notAdoptable: "Nothing was written: only coder1, coder2 and coder3 can be put in order.",
  compareTitle: "Comparisons on your own cases",
  compareEmptyTitle: "Nothing compared yet",
  compareEmpty: "Example: picoclaw compare coder1 coder3",
  solvedShare: "Solved, with the 95 % interval",
  driftTitle: "Solved over time",
  differingTitle: "Cases that not all of them solved",
};
