import type { TaskState } from "../tasks/state.ts";
import { formatBytes } from "./bytes.ts";
import { figuresText, type ShownFigures } from "../tasks/figures-text.ts";
import { listPaths } from "./list-paths.ts";

const paths = (list: readonly string[]) => listPaths(list, (rest) => `… and ${rest} more`);

const SETUP = {
  pulling: "pulling",
  building: "building",
  starting: "starting the container of",
  copying: "copying",
} as const;

const LOGIN = {
  "host-changed": "it was changed here meanwhile, too",
  unlike: "what lies there is not the same login refreshed",
  unwritable: "the file here cannot be written",
} as const;

export const tasksTexts = {
  // Why a task ended.
  totalTime: (seconds: number) =>
    `the total time of ${seconds} seconds is used up (runner.max_total_time_sec)`,
  overBudget: (figures: string) =>
    `today's budget is spent (${figures}); raise budget.daily, or go on tomorrow with --resume`,
  maxLoops: (loops: number) => `not done after ${loops} turns (runner.max_loops)`,
  metaFailed: (reason: string) => `the planning model could not be asked: ${reason}`,
  metaMalformed: (problem: string) =>
    `the planning model's answers could not be used, asked twice: ${problem}`,
  conflict: (jobId: string, list: readonly string[]) =>
    `files changed on the host while the worker ran, so nothing was brought in: ${paths(list)}. Its changes are kept as ${jobId} (picoclaw show ${jobId} --diff)`,
  testFailed: (exitCode: number) => `the tests ended with ${exitCode}`,
  cannotRun: (program: string, image: string) =>
    `cannot run here: ${image} has no ${program}. Name an environment that has it (runner.worker.environment), or an image (runner.worker.docker_image)`,
  allCriteria: "all criteria are met",
  workerDone: "the worker ended well",

  // The container and the worker.
  engineDown: (host: string) =>
    `Docker does not answer at ${host}: start it (systemctl start docker, or Docker Desktop) and run again.`,
  engineForbidden: (host: string) =>
    `Docker at ${host} may not be used by this user: join the group docker (usermod -aG docker USER) and log in again.`,
  imageMissing: (image: string, detail: string, worker: string) =>
    `the image ${image} is not there and could not be pulled or built (${detail}); try: picoclaw images build ${worker}`,
  containerFailed: (detail: string) => `the container did not start: ${detail}`,
  remoteEngine: (host: string) =>
    `the Docker engine at ${host} does not see this machine's files: a worker needs an engine on this machine`,
  setup: (step: "pulling" | "building" | "starting" | "copying", what: string) => `${SETUP[step]} ${what}`,
  workerTimedOut: (seconds: number) => `ended after ${seconds} seconds (runner.worker.max_run_time_sec)`,
  workerEnded: (exitCode: number) => `exit status ${exitCode}`,
  workerKilled: (signal: string) => `killed by ${signal}`,
  workerLost: (detail: string) => `the connection to the container was lost: ${detail}`,
  keysOutside: (detail: string) => `the way by which the worker gets its key could not be laid: ${detail}`,
  workerAborted: "stopped",
  keyQuota: (
    kind: string,
    reached: "requests" | "bytes",
    limits: { readonly requests: number; readonly bytes: number },
  ) =>
    reached === "requests"
      ? `${kind} was ended: it made more than ${limits.requests} requests with your API key in this task (\`tasks.key_requests\`). Code of the project can make requests, too.`
      : `${kind} was ended: more than ${formatBytes(limits.bytes)} went through with your API key in this task (\`tasks.key_traffic\`). Code of the project can make requests, too.`,
  unauthorized: (kind: string, variables: readonly string[]) =>
    `${kind} was refused by its model's server: the key or login is wrong. Log in on this machine, or set ${variables.join(" or ")}.`,
  unreachable: (kind: string, detail: string) => `${kind} does not reach its model's server: ${detail}`,
  loginReadable: (kind: string, list: readonly string[]) =>
    `The login of ${kind} (${paths(list)}) lies in the container's memory while the task runs: the project's own code could read it. A key would stay outside.`,
  loginKept: (path: string, why: "host-changed" | "unlike" | "unwritable") =>
    `The login ~/${path} was changed inside the container and not brought back: ${LOGIN[why]}. If this machine is signed out, log in again.`,
  noCredentials: (kind: string, variables: readonly string[]) =>
    `${kind} has no credentials here: log in on this machine, or set ${variables.join(" or ")}, or runner.worker.env in the task file.`,

  // The command line.
  noTaskFile: "no task file: picoclaw run TASK.yaml, or - for standard input",
  unknownTask: (id: string) => `there is no task ${id} in this workspace`,
  taskBusy: (id: string) => `task ${id} is being worked on by another process`,
  taskDone: (id: string) => `task ${id} is complete; there is nothing to resume`,
  prdUnreadable: (path: string) => `task.prd.path cannot be read: ${path}`,
  unknownEnvironment: ({
    asked,
    available,
  }: {
    readonly asked: string;
    readonly available: readonly string[];
  }) => `runner.worker.environment: there is no environment ${asked}; there are ${available.join(", ")}`,
  taskInvalid: (file: string) => `The task file ${file} is not valid:`,
  previewNeedsNoMeta: "--preview needs --no-meta: only one run can be kept as a preview",
  noModel: (reason: string) => `no planning model: ${reason}\nWithout one: --no-meta`,
  progress: ({
    state,
    loop,
    maxLoops,
    figures,
    last,
  }: {
    readonly state: TaskState;
    readonly loop: number;
    readonly maxLoops: number;
    readonly figures: ShownFigures;
    readonly last: string;
  }) => `${state} · loop ${loop}/${maxLoops} · ${figuresText(figures, "tokens")} · ${last}`,
  ended: ({
    state,
    id,
    summary,
    note,
    jobs,
  }: {
    readonly state: TaskState;
    readonly id: string;
    readonly summary: string;
    readonly note: string;
    readonly jobs: readonly string[];
  }) =>
    [
      `${state === "COMPLETE" ? "Done" : "Failed"}: task ${id}`,
      `  ${summary}`,
      ...(jobs.length > 0 ? [`  jobs: ${jobs.join(", ")} (take back all: picoclaw undo ${id})`] : []),
      `  note: ${note}`,
    ].join("\n"),
  failingTest: (command: string, exitCode: number | null, output: string) =>
    `  the tests: ${command} → ${exitCode ?? "-"}\n${output}`,
  interrupted: (id: string) => `Interrupted: task ${id}. Go on with: picoclaw run --resume ${id}`,

  // The note.
  note: {
    state: "State",
    asked: "What was asked",
    worker: "Worker",
    criteria: "Acceptance criteria",
    noCriteria: "None: the worker ran without a planning model.",
    turn: "Turn",
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
    refused: "Refused: the tests fail, so it is not complete.",
    undo: "Take back everything",
  },
};
