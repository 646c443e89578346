import type { ChecksFacts } from "../../checks/findings.ts";
import type { CandidateFacts } from "../../tasks/solve-decisions.ts";
import type { TaskState } from "../../tasks/task-record.ts";
import { figuresText, type ShownFigures } from "../../tasks/task-steps.ts";
import { checksMessagesFor } from "../checks.ts";
import { formatBytes, jobOrder, listPaths, many, nameFew, tokenVariables } from "../format-text.ts";
import type { Locale } from "../locale.ts";

const checks = checksMessagesFor("en");

/** How a check over a task's change ended. `isRed`: it counts against the change, regardless of its exit code. */
type CheckEnd = Readonly<{ isRed: boolean; exitCode: number; seconds: string; tests: ChecksFacts["counts"] }>;

const more = (rest: number) => `… and ${rest} more`;

const FAILURES: Readonly<Record<string, (detail: string) => string>> = {
  forge: (detail) => `The request to the forge failed: ${detail}`,
  "forge-token": (detail) =>
    `The forge refused the token (${detail}). Check whether it is set, expired or revoked (GITHUB_PERSONAL_ACCESS_TOKEN / GITHUB_TOKEN, GITLAB_PERSONAL_ACCESS_TOKEN), and whether it may read and write this repository's contents, issues and pull requests.`,
  "forge-missing": (detail) =>
    `The forge has no such repository or item, or hides it from this token (${detail}). Check the address, and whether the token may see the repository; to others, a private one is "not found".`,
  container: (detail) => `The environment could not be created: ${detail}`,
  clone: (detail) => `The repository could not be cloned: ${detail}`,
  "wrong-base": (detail) =>
    `The environment reports a base commit that is not the branch's (${detail}). Nothing was pushed. Code of the project may have changed it; check what its installation runs.`,
  model: (detail) => `The model did not answer: ${detail}`,
  "too-many-steps": (detail) =>
    `Not finished within ${detail} steps. Split the task, or raise \`tasks.max_steps\`.`,
  "gave-up": (detail) => `The model stopped without finishing: ${detail}`,
  "nothing-changed": (reason) =>
    `Nothing had to be changed, so there is no pull request.${reason === "" ? "" : ` The model says: ${reason}`}`,
  "nothing-changed-red": (detail) => {
    const [commands = "", ...reason] = detail.split("\n");
    const said = reason.length === 0 ? "The model gives no reason." : `The model says: ${reason.join("\n")}`;
    return `Nothing was changed, and the checks are red: ${commands}. ${said}`;
  },
  "checks-red": (commands) =>
    `The checks are still red after the last attempt: ${commands}. The change is published for review and does not close the issue.`,
  "checks-not-run": (commands) =>
    `The checks could not be run in this environment: ${commands}. The change is published for review and does not close the issue.`,
  "protected-paths": (detail) =>
    `The change touches files that PicoClaw must not change (${detail}). Change them yourself, or allow it with \`tasks.allow_ci_files: true\`.`,
  budget: (detail) =>
    `Today's budget is spent (${detail}). Raise \`budget.daily\`, or run \`picoclaw solve\` with this address tomorrow: it continues from here.`,
  stuck: (detail) => `The model repeated the same call, and it failed each time: ${detail}`,
  cut: () =>
    "The model's answers reached their maximum length repeatedly. Raise `max_tokens` of the coder's model, or ask for less at a time.",
  "secret-in-change": (detail) =>
    `The change contains a secret of this configuration (${detail}). Nothing was pushed; remove it and try again.`,
  "protected-branch": (detail) => `The branch is protected and cannot be pushed to: ${detail}`,
  "no-permission": (detail) =>
    `The token may not push to this repository. Give it write access to contents. ${detail}`,
  declined: (detail) => `The forge declined the push: ${detail}`,
  "push-failed": (detail) => `The change could not be pushed: ${detail}`,
  archived: () => "This repository is archived; nothing can be changed in it.",
  empty: (repository) => `The repository ${repository} is empty. Push a first commit, then ask again.`,
  "has-pull": (detail) =>
    `An open pull request already closes this: ${detail}. Ask there, or close it and ask here again.`,
  closed: () => "This is already closed.",
  stopped: () => "Stopped, as asked. Nothing was pushed after that.",
  "given-up": (detail) => `PicoClaw itself ended ${detail} times during this task, so the task was given up.`,
  lost: () => "Another PicoClaw has taken over this task.",
};

const CANDIDATE_ENDS: Readonly<Record<string, string>> = {
  model: "the model did not answer",
  "too-many-steps": "too many steps",
  "gave-up": "the model stopped",
  stuck: "it repeated itself",
  cut: "its answers were too long",
  budget: "the budget is spent",
  container: "no environment",
  clone: "not cloned",
  "checks-red": "the checks are red",
  "checks-not-run": "the checks could not run",
  stopped: "stopped",
  "nothing-changed": "nothing to change",
  "protected-paths": "it changes protected files",
};

export const TASK_STATES: Readonly<Record<TaskState, string>> = {
  PENDING: "waiting",
  PLANNING: "planning",
  RUNNING: "running",
  VALIDATING: "checking",
  COMPLETE: "done",
  FAILED: "failed",
};

function candidateWords({ failure, checks: ran, patchBytes }: CandidateFacts): string {
  if (failure !== null) return `not finished (${CANDIDATE_ENDS[failure] ?? "it failed"})`;
  if (patchBytes === 0) return "changed nothing";
  const red = ran.filter((exitCode) => exitCode !== 0).length;
  if (ran.length === 0) return "not checked";
  return red === 0 ? "checks green" : `${red} of ${ran.length} checks red`;
}

export const solveTexts = {
  locale: "en" as Locale,
  // The progress comment
  working: (title: string) => `PicoClaw is working on “${title}”`,
  ended: {
    done: "PicoClaw is done",
    failed: "PicoClaw could not finish",
    stopped: "PicoClaw stopped",
    paused: "PicoClaw paused",
  },
  phases: {
    gather: "read the task",
    plan: "plan",
    prepare: "prepare the environment",
    work: "work",
    verify: "verify",
    publish: "publish",
  },
  steps: (done: number, max: number) => `step ${done} of at most ${max}`,
  figures: (figures: ShownFigures) => figuresText(figures, "tokens"),
  editedSoFar: (paths: readonly string[]) => `Edited: ${nameFew(paths, more)}`,
  saidLast: (words: string) => `> ${words}`,
  lastAction: (command: string, exitCode: number) => `Last command: ${command} (exit code ${exitCode})`,
  howToStop: "Comment `stop` or `pause` to halt this. Other comments are taken into account.",
  howToResume: (url: string) =>
    `To resume: run \`picoclaw solve ${url}\`, or, if \`picoclaw serve\` watches this repository, comment \`resume\`.`,
  pullOpened: (url: string) => `Result: ${url}`,
  takenIntoAccount: (count: number) => `${many(count, "new comment")} taken into account`,
  // The PR/MR
  pullTitle: (title: string) => title,
  summaryHeading: "Summary",
  commandsHeading: "Commands run",
  whyHeading: "Why",
  why: (number: number, title: string) => `For #${number}: ${title}`,
  checksHeading: "How it was checked",
  costHeading: "Cost",
  howToAsk:
    "To ask for changes, comment on a line or write below. PicoClaw follows up on this branch if `picoclaw serve` watches this repository; otherwise run `picoclaw solve` with this address.",
  verdicts: {
    red: "The checks are red: this is a draft and does not close the issue.",
    "not-run": "The checks could not be run: this is a draft and does not close the issue.",
    unchecked: "Not checked: the project has no tests or linters that PicoClaw recognises.",
  },
  since: (verdict: ChecksFacts["verdict"], worse: readonly string[]) => {
    if (worse.length > 0) return `Did not fail before this change: ${nameFew(worse, more)}.`;
    if (verdict === "still-red") return "It was red before this change, and still is.";
    if (verdict === "unknown")
      return "It was red before this change as well; which tests failed is not known.";
    return verdict === "red-before" || verdict === "better"
      ? "It was red before this change as well, by the same tests."
      : "Did not fail before this change.";
  },
  notesHeading: "Notes",
  noChecks: "The project has no tests or linters that PicoClaw recognises.",
  asCloned: (paths: readonly string[]) =>
    `Ran with ${nameFew(paths, more)} as it was before this change, because it decides how the checks run.`,
  checkLine: (command: string, { isRed, exitCode, seconds, tests }: CheckEnd) =>
    `${!isRed ? "✅" : "❌"} ${command} (exit code ${exitCode}, ${tests === null ? "" : `${checks.counts(tests)}, `}${seconds} s)`,
  checkCannotRun: (command: string, cause: string) =>
    `⚠️ ${command} cannot run in this environment, with this change or without it: ${cause}. It judged nothing; run it where that is there.`,
  tableHead: ["command", "result", "time"] as readonly [command: string, result: string, time: string],
  more,
  byHead: (kind: string) => `${kind} did the work (\`roles.coder.head\`).`,
  headElsewhere: (head: string) =>
    `${head} (\`roles.coder.head\`) does not work in containers: PicoClaw's own tools did the work.`,
  footer: "Made by PicoClaw. Every word above about commands and checks comes from their records.",
  followUpMessage: "Follow up on the review",
  reviewChangedHere: (commit: string) => `Changed at this place in ${commit}.`,
  reviewChangedElsewhere: (commit: string) => `This file was changed in ${commit}, but not near this line.`,
  reviewChanged: (commit: string) => `This file was changed in ${commit}.`,
  reviewUnchanged: "This file was not changed.",
  // Notes
  baseMoved: "The base branch moved meanwhile; the change was rebased onto its tip.",
  baseConflicts: "The base branch moved meanwhile and conflicts with the change; please resolve it.",
  ciLeftOut: (paths: readonly string[]) =>
    `Left out, because CI would run it: ${nameFew(paths, more)}. To allow it, set \`tasks.allow_ci_files: true\`.`,
  toolsLeftOut: (paths: readonly string[]) => `Left out, because tools generated it: ${nameFew(paths, more)}`,
  unbornLeftOut: (paths: readonly string[]) =>
    `Left out, because it is a git repository of its own without a commit: ${nameFew(paths, more)}. Remove its \`.git\` to make its files part of the change.`,
  installWarning: (text: string) => `Dependencies: ${text}`,
  // Ends, each one helpful sentence
  failure: (kind: string, detail: string) => (FAILURES[kind] ?? ((text: string) => text))(detail),
  patchInstead:
    "PicoClaw may not push to the source branch of this pull request. Here is the change as a patch for `git apply`:",
  patchTooLarge:
    "PicoClaw may not push to the source branch of this pull request, and the patch is too large for a comment or cannot be shown in one.",
  candidates: (kept: number, all: readonly CandidateFacts[]) =>
    `Of ${all.length} candidates, number ${kept} was kept. ${all
      .map((one, i) => `${i + 1}: ${candidateWords(one)}`)
      .join("; ")}.`,
  badCandidates: "--candidates takes a whole number from 1 to 5",
  // The terminal
  alreadyRunning: (url: string) => `Already being worked on: ${url}`,
  notAnItem: (url: string) => `Not the address of an issue, PR or MR: ${url}`,
  noToken: (forge: string, variable: string) =>
    `No token for ${forge}. Set ${tokenVariables(variable, " or ")}.`,
  unknownWorker: (kind: string, known: readonly string[]) =>
    `Unknown worker: ${kind}. Known: ${known.join(", ")}`,
  started: (url: string) => `Working on ${url}`,
  resumed: (url: string) => `Resuming ${url}`,
};

const paths = (list: readonly string[]) => listPaths(list, more);

const SETUP = {
  pulling: "pulling",
  building: "building",
  starting: "starting the container of",
  copying: "copying",
} as const;

type KeyLimit = "requests" | "bytes";

const LOGIN = {
  "host-changed": "it was also changed on this machine meanwhile",
  unlike: "it is not the same login, refreshed",
  unwritable: "the file on this machine cannot be written",
} as const;

interface TaskProgress {
  readonly state: TaskState;
  readonly loop: number;
  readonly maxLoops: number;
  readonly figures: ShownFigures;
  readonly last: string;
}

type EndedTask = Readonly<Record<"id" | "summary" | "note", string>> & {
  readonly state: TaskState;
  readonly jobs: readonly string[];
};

export const tasksTexts = {
  // Why a task ended.
  totalTime: (seconds: number) =>
    `the total time limit of ${seconds} seconds was reached (runner.max_total_time_sec)`,
  overBudget: (figures: string) =>
    `today's budget is spent (${figures}); raise budget.daily, or resume it tomorrow with --resume`,
  maxLoops: (loops: number) => `not done after ${loops} loops, the limit (runner.max_loops)`,
  metaFailed: (reason: string) => `the planning model could not be asked: ${reason}`,
  metaMalformed: (problem: string) =>
    `the planning model gave two answers that could not be used: ${problem}`,
  conflict: (jobId: string, list: readonly string[]) =>
    `files changed on the host while the worker ran, so nothing was applied: ${paths(list)}. Its changes are kept as ${jobId} (${jobOrder("terminal", "diff", jobId)})`,
  testFailed: (exitCode: number) => `the tests ended with exit code ${exitCode}`,
  testsRed: "the tests are red",
  notChecked:
    "NOT CHECKED: the task file names no test (task.test), so nothing checks the work before it is applied",
  keptRed: (jobId: string) =>
    `Nothing was applied: the change is kept as a preview (${jobOrder("terminal", "diff", jobId)}; ${jobOrder("terminal", "apply", jobId)})`,
  hookRefused: (command: string) => `a hook refused the change: ${command}`,
  cannotRun: (program: string, image: string) =>
    `cannot run here: ${image} has no ${program}. Name an environment that has it (runner.worker.environment), or an image (runner.worker.docker_image)`,
  allCriteria: "all criteria are met",
  workerDone: "the worker finished successfully",

  // The container and the worker.
  engineDown: (host: string) =>
    `Docker does not answer at ${host}: start it (systemctl start docker, or Docker Desktop) and run again.`,
  engineForbidden: (host: string) =>
    `This user may not use Docker at ${host}: join the group docker (sudo usermod -aG docker $USER) and log in again.`,
  imageMissing: (image: string, detail: string, worker: string) =>
    `the image ${image} does not exist here and could not be pulled or built (${detail}); try: picoclaw images build ${worker}`,
  containerFailed: (detail: string) => `the container did not start: ${detail}`,
  remoteEngine: (host: string) =>
    `the Docker engine at ${host} does not see this machine's files: a worker needs an engine on this machine`,
  setup: (step: keyof typeof SETUP, what: string) => `${SETUP[step]} ${what}`,
  workerTimedOut: (seconds: number) => `ended after ${seconds} seconds (runner.worker.max_run_time_sec)`,
  workerEnded: (exitCode: number) => `exit status ${exitCode}`,
  workerKilled: (signal: string) => `killed by ${signal}`,
  workerLost: (detail: string) => `the connection to the container was lost: ${detail}`,
  keysOutside: (detail: string) => `the worker could not be given access to its key: ${detail}`,
  workerAborted: "stopped",
  keyQuota: (kind: string, reached: KeyLimit, { requests, bytes }: Readonly<Record<KeyLimit, number>>) =>
    `${kind} was ended: ${reached === "requests" ? `it made more than ${requests} requests` : `more than ${formatBytes(bytes)} went through`} with your API key in this task (\`tasks.${reached === "requests" ? "key_requests" : "key_traffic"}\`). Code of the project can make requests, too.`,
  unauthorized: (kind: string, variables: readonly string[]) =>
    `${kind} was refused by its model's server: the key or login is wrong. Log in on this machine, or set ${variables.join(" or ")}.`,
  unreachable: (kind: string, detail: string) => `${kind} cannot reach its model's server: ${detail}`,
  loginReadable: (kind: string, list: readonly string[]) =>
    `The login of ${kind} (${paths(list)}) is in the container's memory while the task runs, where the project's own code could read it. An API key would stay outside.`,
  loginKept: (path: string, why: keyof typeof LOGIN) =>
    `The login ~/${path} was changed inside the container and not copied back: ${LOGIN[why]}. If this machine is signed out, log in again.`,
  noCredentials: (kind: string, variables: readonly string[]) =>
    `${kind} has no credentials here: log in on this machine, or set ${variables.join(" or ")}, or runner.worker.env in the task file.`,

  // The command line.
  workerByHead: (kind: string) => `${kind} does the work (roles.coder.head)`,
  noWorker: (head: string | null) =>
    head === null
      ? "no worker: name one in runner.worker.kind, or set roles.coder.head"
      : `no worker: ${head} (roles.coder.head) does not work in containers; name one in runner.worker.kind`,
  typeTask: "The task file is read from standard input; end it with Ctrl-D.",
  noTaskFile: "no task file: picoclaw run TASK.yaml, or - for standard input",
  unknownTask: (id: string) => `there is no task ${id} in this workspace`,
  taskBusy: (id: string) => `task ${id} is being worked on by another process`,
  taskDone: (id: string) => `task ${id} is complete; there is nothing to resume`,
  prdUnreadable: (path: string) => `task.prd.path cannot be read: ${path}`,
  unknownEnvironment: ({ asked, available }: Readonly<{ asked: string; available: readonly string[] }>) =>
    `runner.worker.environment: unknown environment ${asked}; known: ${available.join(", ")}`,
  taskInvalid: (file: string) => `The task file ${file} is not valid:`,
  previewNeedsNoMeta: "--preview needs --no-meta: only one run can be kept as a preview",
  noModel: ({ code, detail }: Readonly<Record<"code" | "detail", string>>) => {
    const known: Readonly<Record<string, string>> = {
      "over-budget": `today's budget is spent (${detail}); raise budget.daily, or run this again tomorrow`,
      "no-price": `a budget is set, and the price of the planning model ${detail} is unknown; add it to budget.prices`,
    };
    return `${known[code] ?? `no planning model: ${detail}`}\nTo run without a planning model: --no-meta`;
  },
  progress: ({ state, loop, maxLoops, figures, last }: TaskProgress) =>
    `${TASK_STATES[state]} · loop ${loop}/${maxLoops} · ${figuresText(figures, "tokens")} · ${last}`,
  ended: ({ state, id, summary, note, jobs }: EndedTask) =>
    [
      `${state === "COMPLETE" ? "Done" : "Failed"}: task ${id}`,
      `  ${summary}`,
      ...(jobs.length > 0 ? [`  jobs: ${jobs.join(", ")} (undo all: picoclaw undo ${id})`] : []),
      `  note: ${note}`,
    ].join("\n"),
  failingTest: (command: string, exitCode: number | null, output: string) =>
    `  the tests: ${command} → ${exitCode ?? "-"}\n${output}`,
  interrupted: (id: string) => `Interrupted: task ${id}. To resume it: picoclaw run --resume ${id}`,

  // The note.
  note: {
    state: "State",
    asked: "What was asked",
    worker: "Worker",
    criteria: "Acceptance criteria",
    noCriteria: "None: the worker ran without a planning model.",
    turn: "Loop",
    decision: "Decision",
    prompt: "Prompt",
    run: "Worker run",
    output: "Output",
    changes: "Changes",
    noChanges: "No file changed.",
    test: "Test",
    verdicts: "Assessment",
    cost: "Cost",
    result: "Result",
    passed: "passed",
    failed: "failed",
    refused: "Refused: the tests fail, or the change is only a preview, so the task is not complete.",
    undo: "Undo everything",
  },
};
