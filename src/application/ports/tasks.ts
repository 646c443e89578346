import type { TaskFile } from "../../config/task-file.ts";
import type { ChecksRecord } from "../../domain/checks/findings.ts";
import type { ForgeKind, WorkerKindName } from "../../domain/config/configured-kinds.ts";
import type { RefusedHost } from "../../domain/containers/preparation.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";
import type { TaskUsage } from "../../domain/models/model-facts.ts";
import type { Phase, SolvePlan, SolveState } from "../../domain/tasks/solve-decisions.ts";
import type { RunJob, TaskEvent, TaskRecord, TestRun, WorkerRun } from "../../domain/tasks/task-record.ts";
import type { TaskFigures, TaskStep } from "../../domain/tasks/task-steps.ts";
import type { SolveMessages, TaskMessages } from "../../domain/texts/tasks.ts";
import type { ContainerClaim, PrintOptions, SandboxFailure } from "./containers.ts";
import type { ProjectFiles } from "./drafts.ts";
import type { IntakeEvent, PublishRequest } from "./forges.ts";
import type { WorkerProgress } from "./heads.ts";
import type { Workspace } from "./jobs-workspace.ts";
import type { ModelMessage, ModelTool } from "./models.ts";
import type { WorkspaceFiles } from "./platform-view.ts";
import type { Work } from "./serve.ts";

export type { WorkerProgress } from "./heads.ts";

/** Tasks from forges, one live task per item. A waiting or running one is work of the queue: another process continues after a crash. */
export interface SolveStore extends SolveReader {
  /** Adds a task that a process may claim (one started by hand: by `claimOwn`), or returns the live one of the item. */
  open(task: SolveTask): Promise<{ readonly task: SolveTask; readonly fresh: boolean }>;
  /** Turns an ended task into a waiting one, as given. False if the item has a live one. */
  reopen(task: SolveTask): Promise<boolean>;
  findLast(item: ItemRef): Promise<SolveTask | null>;
  /** The task of an item that is waiting, running or paused. */
  findLive(item: ItemRef): Promise<SolveTask | null>;
  /** The oldest task that needs no more than the process has: labels, and `forge:` with the forges it may ask. */
  claim(has: readonly string[]): Promise<ClaimedTask | null>;
  /** Exactly this task, even if paused; null while another process works on it. */
  claimOwn(id: string): Promise<ClaimedTask | null>;
  /** Ends the claim of a task whose state is saved. With `dead` it is kept among the given up work. */
  finish(claim: Work, dead?: string): Promise<"done" | "lost">;
  /** Gives back the claim of a task that is to continue. Unless it had `begun`, the attempt does not count. */
  handBack(claim: Work, options: { readonly begun: boolean }): Promise<"done" | "lost">;
  /** False where another process owns a claimed task; nothing was written. Without a claim, a waiting one gets its work. */
  save(task: SolveTask, claim?: Work): Promise<boolean>;
  /** Pauses or stops a task that is not being worked on; false if it is. */
  halt(task: SolveTask, state: "paused" | "stopped"): Promise<boolean>;
  /** Adds an event to a claimed task; nothing is ever changed or removed. */
  note(id: string, step: TaskStep, claim: Work): Promise<void>;
  /** Asks the working process to stop or to pause. */
  order(id: string, order: Order | null): Promise<void>;
  orderOf(id: string): Promise<Order | null>;
  /** Adds work for waiting tasks without any: they were copied, or are from an older version. */
  adopt(): Promise<void>;
  /** True the first time this delivery is seen. */
  firstSight(deliveryId: string, at: Date): Promise<boolean>;
}

/** Acknowledged deliveries that were not acted on yet. Those of one item are handled in order, by one process at a time. */
export interface ForgeEvents {
  /** Stores an event; false when it was delivered before. */
  keep(event: IntakeEvent, at: Date): Promise<boolean>;
  /** The oldest event that no process has claimed. */
  claim(forge: ForgeKind): Promise<ClaimedEvent | null>;
  /** As `SolveStore.firstSight`, and true again for the event that was the first: its process may have died meanwhile. */
  firstSight(eventId: string, deliveryId: string, at: Date): Promise<boolean>;
  /** Forgets an event that was acted on, or given up. */
  finish(work: Work): Promise<"done" | "lost">;
  handBack(work: Work): Promise<"done" | "lost">;
  /** Adds work for those without any: they were copied. */
  adopt(): Promise<void>;
}

export interface ClaimedEvent {
  readonly event: IntakeEvent;
  readonly receivedAt: Date;
  readonly work: Work;
}

export interface SolveReader {
  find(id: string): Promise<SolveTask | null>;
  /** Newest first. */
  list(limit: number): Promise<SolveTask[]>;
  /** Oldest first. */
  steps(id: string): Promise<readonly TaskStep[]>;
}

export interface ClaimedTask {
  readonly task: SolveTask;
  readonly work: Work;
}

export type Order = "stop" | "pause";

export interface SolveTask {
  /** A UUID: the environment is named by it. */
  readonly id: string;
  readonly item: ItemRef;
  readonly state: SolveState;
  readonly phase: Phase;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The user who asked for it, as the forge states. */
  readonly askedBy: string;
  /** When it was asked for the last time: requests from before that are served by it. Tasks of an older version have none. */
  readonly askedAt?: string;
  /** How it began; a task that a label started ends when the label is removed. */
  readonly trigger: "hand" | "label" | "assignment" | "mention" | "review";
  /** A worker CLI instead of our own loop. */
  readonly worker: string | null;
  /** How many coders work on it at once, each in a container of its own. Default: 1. */
  readonly candidates?: number;
  /** Labels that a machine must have to carry it out. Default: none. */
  readonly needs?: readonly string[];
  readonly title: string;
  /** The branch that is pushed to, once known; `attempt` counts names that were taken. */
  readonly branch: string | null;
  readonly attempt: number;
  readonly base: { readonly branch: string; readonly commit: string | null } | null;
  readonly pushed: string | null;
  readonly pull: { readonly ref: ItemRef; readonly url: string } | null;
  readonly commentId: string | null;
  readonly plan: SolvePlan | null;
  readonly environment: string | null;
  readonly transcript: readonly ModelMessage[];
  readonly steps: number;
  /** How many of them were made before it was resumed; they do not count against the limit. */
  readonly stepsBefore?: number;
  readonly commands: readonly CommandFact[];
  readonly checks: readonly CheckFact[];
  /** The verdict of the checks on the change, as for any coder's; null where nothing was changed, or nothing judged yet. */
  readonly judged?: ChecksRecord | null;
  readonly summary: string;
  /** The project's own command for its tests, as of the clone. */
  readonly checkCommand?: string | null;
  /** The change so far, base64 of `git diff --binary`, for a container that must be rebuilt. */
  readonly patch: string;
  /** The tree of the base with that change, as the container named it; tasks of an older version have none. */
  readonly tree?: string;
  /** Folders that are not part of it: separate repositories without a commit. */
  readonly unborn?: readonly string[];
  /** Comments that the work already includes. */
  readonly seen: readonly string[];
  /** The coder's answers to review comments, by their ids. */
  readonly answers?: Readonly<Record<string, string>>;
  readonly answered?: readonly string[];
  readonly failure: { readonly kind: string; readonly message: string } | null;
  readonly notes: readonly string[];
  readonly spent: Readonly<Partial<Record<Phase, number>>>;
}

export interface CommandFact {
  readonly command: string;
  readonly exitCode: number;
  readonly durationMs: number;
}

export interface CheckFact extends CommandFact {
  readonly kind: "test" | "lint";
  /** It could not be run there; if absent, the exit code tells. */
  readonly absent?: boolean;
  /** Without the tests that passed, long output cut. Tasks of an older version have none. */
  readonly output?: string;
  /** Where it is red, or lost tests: how that compares with the project as it was cloned, and the tests that did not fail there. */
  readonly since?: { readonly verdict: ChecksRecord["verdict"]; readonly worse: readonly string[] };
  /** It ran with these files as they were cloned, because they decide how checks run. */
  readonly asCloned?: readonly string[];
  /** Why it cannot run here, with the change and without it. */
  readonly cause?: string;
  /** Its test counts; null if they could not be read. Tasks of an older version have none. */
  readonly counts?: ChecksRecord["counts"];
}

export interface OpenSolve {
  readonly texts: SolveMessages;
  /** Never rejects for an expected failure. A second call for the same item continues where the first ended. */
  solve(request: SolveRequest): Promise<SolveOutcome>;
  close(): Promise<void>;
}

interface SolveRequest {
  readonly url: string;
  readonly worker: string | null;
  /** Coders that work on it at once, each in a container of its own; the checks choose. */
  readonly candidates: number;
  /** Starts over instead of continuing from the kept work of an earlier task of the item. */
  readonly fresh: boolean;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly onStep?: (step: TaskStep) => void;
}

export type SolveOutcome =
  | { readonly status: "ended"; readonly task: SolveTask; readonly steps: readonly TaskStep[] }
  | { readonly status: "refused"; readonly exitCode: 2 | 3; readonly message: string };

/** Environments as a task from a forge uses them: one container per task, gone when the task ends. */
export interface TaskEnvironments {
  available(): Readonly<Record<string, string>>;
  /** The tools that work in an environment: `command-executor_execute_command` and `text_editor`. */
  readonly tools: readonly ModelTool[];
  readonly promptFragment: (environmentName: string) => string;
  /** Creates the container, clones the project into it and installs its dependencies. Leaves nothing behind if it fails. */
  prepare(request: PrepareTask): Promise<TaskEnvironment | EnvironmentTrouble>;
  /** Removes the task's container of that claim and its dependent objects; a missing one is not an error. */
  remove(taskId: string, claim: ContainerClaim): Promise<void>;
}

interface PrepareTask extends Pick<PublishRequest, "cloneUrl" | "credentials" | "branch" | "signal"> {
  readonly taskId: string;
  /** The claim for which it is created: a claim that lost the task neither replaces nor removes its successor's. */
  readonly claim: ContainerClaim;
  /** Null: by the project's files, else the default. */
  readonly environment: string | null;
  /** A worker CLI that is to work there; its own image then is the environment. */
  readonly worker: string | null;
  /** Fetched as well, for comparing. */
  readonly targetBranch: string | null;
  readonly onProgress: (text: string) => void;
}

export interface FailedInstall {
  readonly command: string;
  readonly output: string;
  /** Refused by PicoClaw's rules, regardless of the program's own error. */
  readonly refused: readonly RefusedHost[];
  /** The rest was installed without these; null where nothing was. */
  readonly leftOut: readonly string[] | null;
}

export interface TaskEnvironment {
  readonly ok: true;
  readonly name: string;
  readonly baseCommit: string;
  readonly warnings: readonly string[];
  /** Failed installations, with the end of their output. */
  readonly failedInstalls: readonly FailedInstall[];
  /** Calls one of `TaskEnvironments.tools` as the model asks; the text says what was refused or failed. */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<EnvironmentCall>;
  /** Runs a command of ours, not of the model's: no policy. */
  run(command: string, signal: AbortSignal): Promise<RunInEnvironment>;
  /** All bytes that such a command prints, up to the limit; a text states why there are none. */
  print(command: string, options: PrintOptions): Promise<Uint8Array | string>;
  /** Runs the worker CLI; only if one was requested. Never rejects. */
  runWorker?(prompt: string, options: Pick<PrepareTask, "signal" | "onProgress">): Promise<WorkerOutcome>;
  /** A text states why there is none. `exact` reads every file again and trusts no setting that the project could write. */
  difference(signal: AbortSignal, how: { readonly exact: boolean }): Promise<Difference | string>;
  /** The project there. A draft of it is the clone itself, with every change since the installation. */
  readonly workspace: Pick<Workspace, "root" | "openDraft" | "files" | "archive">;
  /** Its files as a coder is shown them. */
  readonly projectOf: (files: WorkspaceFiles) => ProjectFiles;
  /** Applies such a difference; a text is the reason for a failure. */
  bringIn(patch: Uint8Array, signal: AbortSignal): Promise<string | null>;
}

interface Difference {
  /** `git diff --binary --full-index`. */
  readonly patch: Uint8Array;
  /** The tree of the base with the patch, as the environment names it. */
  readonly tree: string;
  /** Folders that are not part of it: separate repositories without a commit. */
  readonly unborn: readonly string[];
}

interface WorkerOutcome {
  readonly usage: TaskUsage;
  readonly notes: readonly string[];
  readonly summary: string;
  readonly error: string | null;
  readonly exitCode: number;
  readonly durationMs: number;
}

export interface EnvironmentCall {
  readonly text: string;
  readonly ok: boolean;
  readonly command?: RunInEnvironment & { readonly command: string };
}

export interface RunInEnvironment {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** `message` is for a person, in their language, without secrets. */
export interface EnvironmentTrouble {
  readonly ok: false;
  readonly kind: "container" | "clone" | "aborted";
  readonly message: string;
}

/** The stored history of a task: a journal that a resume reads, and the note for people. */
export interface TaskFiles {
  /** Durable before it returns. */
  append(event: TaskEvent): void;
  events(): readonly TaskEvent[];
  /** Each replaces the earlier file atomically. */
  writeNote(markdown: string, json: string): void;
  readonly notePath: string;
  /** Holds the task for this process; null when another one has it. */
  claim(): { release(): void } | null;
}

/** A worker CLI in a container of its own, for all runs of a task. No call rejects for an expected failure. */
export interface WorkerExecutor {
  /** Makes the container ready, its image first: pulled, else built. Idempotent. */
  start(options: {
    readonly signal: AbortSignal;
    /** A command that is going to be run: where its program is missing, nothing is begun. */
    readonly test?: string;
    /** Jobs of the task that landed earlier: its work is compared with the state before them. */
    readonly landed?: readonly string[];
    /** A job of the task that was a preview. */
    readonly kept?: string;
    readonly onProgress?: (text: string) => void;
  }): Promise<ExecutorStarted>;
  /** One run of the CLI, as one job on the repository. A failed run is a result, not a failure of this call. */
  runWorker(prompt: string, options: RunOptions): Promise<WorkerRun>;
  /** Lands the staged changes of `preview` runs, unless a hook of the user refuses, which its notes name. Null: nothing is staged. */
  land(options: Pick<RunOptions, "signal">): Promise<RunJob | null>;
  /** Runs a command next to the worker, in its view; its changes belong to no job and stay in the container. */
  runTest(test: { readonly command: string; readonly cwd: string }, options: RunOptions): Promise<TestRun>;
  /** Removes the container with all it held. Idempotent; never throws. */
  stop(): Promise<void>;
}

export type ExecutorStarted =
  | {
      readonly ok: true;
      readonly container: string;
      readonly image: string;
      readonly staging: "overlay" | "copy";
      /** The requested preview was applied in the meantime. */
      readonly hasKept?: boolean;
      readonly notes: readonly string[];
    }
  | {
      readonly ok: false;
      readonly code: ExecutorFailureCode;
      readonly message: string;
      readonly cause?: SandboxFailure;
    };

/** `engine`: it does not answer. `image`: neither there, nor to be pulled or built. `cannot-run`: it lacks a program. */
type ExecutorFailureCode = "engine" | "image" | "container" | "credentials" | "cannot-run" | "aborted";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress?: (progress: WorkerProgress) => void;
  readonly title?: string;
  /** The worker's last words: they may declare red tests (see `Declaration`). */
  readonly words?: string;
  /** Keeps the run's job staged, with everything that earlier runs left staged: `land` applies it. */
  readonly preview?: boolean;
}

export interface WorkerChoices {
  readonly kind: WorkerKindName;
  /** Names the container and groups the jobs. Default: made up. */
  readonly taskId?: string;
  /** By its name in the configuration. Default: by the project's files. */
  readonly environment?: string;
  /** An image that has the CLI, instead of the environment's. */
  readonly image?: string;
  /** Variables for the worker. Keys among them stay outside of the container. */
  readonly workerEnv?: Readonly<Record<string, string>>;
}

export interface OpenedWorker {
  readonly ok: true;
  readonly taskId: string;
  readonly executor: WorkerExecutor;
  close(): Promise<void>;
}

export interface OpenTasks {
  readonly texts: TaskMessages;
  /** The task file a task was made of; null when there is no such task here. */
  sourceOf(id: string): string | null;
  /** Never rejects for an expected failure. */
  run(request: TaskRequest): Promise<TaskRun>;
}

export interface TaskRequest {
  readonly resume?: string;
  readonly file: TaskFile;
  readonly source: string;
  readonly workerEnv: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly noMeta: boolean;
  readonly preview: boolean;
  readonly signal: AbortSignal;
  readonly onRecord: (record: TaskRecord, event: TaskEvent) => void;
  readonly onProgress: (progress: TaskProgress) => void;
}

export type TaskProgress = WorkerProgress | { readonly kind: "setup"; readonly text: string };

export type TaskRun =
  | {
      readonly ok: true;
      readonly record: TaskRecord;
      readonly interrupted: boolean;
      readonly note: string;
      readonly json: string;
    }
  | {
      readonly ok: false;
      readonly code:
        | "prd-unreadable"
        | "unknown-environment"
        | "task-busy"
        | "task-complete"
        | "unknown-task"
        | "no-model"
        | "no-worker";
      readonly text: string;
    };

export interface TaskReader {
  /** Newest first. */
  list(limit: number): Promise<readonly TaskSummary[]>;
}

export interface TaskSummary {
  readonly id: string;
  readonly title: string;
  readonly state: string;
  readonly tone: "waiting" | "running" | "good" | "bad";
  readonly source: string;
  readonly url?: string;
  readonly updatedAt: string;
  /** The progress: 3/60. */
  readonly step: string;
  readonly figures: TaskFigures;
}
