import type { Config } from "../../config/config.ts";
import type { ProjectSettings } from "../../config/task-file.ts";
import type { PriorProgress, StepFacts, TaskStep } from "../../domain/tasks/task-steps.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import type { CheckSettings } from "../checks/baseline.ts";
import { completionFailure, type Patience, type UnfinishedCompletion } from "../models/complete.ts";
import type { Advise } from "../platform/advise.ts";
import type { ContainerClaim } from "../ports/containers.ts";
import type {
  Forge,
  ForgeAnswer,
  ForgeItem,
  ForgeRepository,
  ForgeUser,
  Publisher,
} from "../ports/forges.ts";
import type { Model, ModelFailure } from "../ports/models.ts";
import type { BudgetNotice, WorkerAccount } from "../ports/models-meter.ts";
import type { Logger } from "../ports/platform.ts";
import type { SolveStore, SolveTask, TaskEnvironment, TaskEnvironments } from "../ports/tasks.ts";
import type { WorkKeeper } from "../serve/take-work.ts";

export interface SolveDeps {
  readonly forge: Forge;
  readonly environments: TaskEnvironments;
  readonly publisher: Publisher;
  readonly store: SolveStore;
  /** The coder role, which may be in the cloud: a task holds a project, not a conversation. */
  readonly model: () => Model | ModelFailure;
  readonly messages: SolveMessages;
  readonly config: SolveConfig;
  readonly log: Logger;
  readonly advise: Advise;
  /** Removes secrets from everything that is posted, pushed or stored. */
  readonly mask: (text: string) => string;
  readonly secrets: () => readonly string[];
  readonly now: () => Date;
  readonly clock: () => number;
  /** The settings in a project's own `picoclaw.yaml`; none of them widens power. */
  readonly readSettings: (yaml: string) => Promise<ProjectSettings>;
  /** Ends early, without a word, when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The cost of all answers of the task so far in this process. */
  readonly costUsd: () => number;
  readonly budgetNotices?: () => readonly BudgetNotice[];
  readonly workers: WorkerAccount;
  readonly uuid: () => string;
  /** Says that this process lives and works on the task. */
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
}

interface SolveConfig extends Omit<ReturnType<typeof solveSettings>, "checks"> {
  /** `checks:`, with the command of `testCommand` or of the project. */
  readonly checks: CheckSettings;
}

export function solveSettings({ tasks, checks, coder, roles, command_executor: executor }: Config) {
  return {
    maxSteps: tasks.max_steps,
    /** How long a model's server that cannot answer is waited for. */
    patienceMs: tasks.patience * 1000,
    label: tasks.label,
    testCommand: checks.command,
    // No user waits for a task at a prompt: all of its checks run, however long they take.
    checks: { ...checks, enabled: checks.enabled === "never" ? ("never" as const) : ("always" as const) },
    attempts: coder.attempts,
    /** Who works if the task names no worker CLI; null: our own tools. */
    head: roles.coder.head,
    rules: tasks.rules,
    insecureHosts: executor.clone.insecure_hosts,
    allowCi: tasks.allow_ci_files,
    newsEveryMs: 10_000,
    progressEveryMs: 5_000,
    ordersEveryMs: 1_000,
  };
}

export interface SolveWork {
  task: SolveTask;
  readonly claim: ContainerClaim;
  readonly signal: AbortSignal;
  update(change: Partial<SolveTask>): Promise<void>;
  readonly bot: ForgeUser;
  item: ForgeItem;
  readonly repository: ForgeRepository;
  environment: TaskEnvironment | null;
  /** Whether the coder's work was finished before, so that only checking and publishing are left. */
  worked: boolean;
  judged: boolean;
  /** Whose container `environment` is: the task's own, or that of the candidate that was kept. */
  environmentId: string;
  /** One of several candidates; its words are not posted to the forge. */
  readonly isCandidate: boolean;
  readonly patience: Patience;
  /** The progress before the task was claimed, from its steps; null where there was none. */
  readonly soFar: PriorProgress | null;
  /** When it was last touched before it was taken up. */
  readonly since: string;
  /** How much of the cost is in the steps already. */
  costNoted: number;
  note(step: StepFacts & Pick<TaskStep, "candidate">): Promise<void>;
  readonly say: (text: string) => void;
}

export class SolveStop extends Error {
  constructor(
    readonly kind: SolveStopKind,
    readonly detail: string = "",
  ) {
    super(`${kind}: ${detail}`);
    this.name = "SolveStop";
  }
}

export type SolveStopKind =
  | "stopped"
  | "paused"
  /** Another process has it by now. */
  | "lost"
  /** Too many processes ended over it. */
  | "given-up"
  | "forge"
  | "forge-token"
  | "forge-missing"
  | "container"
  | "clone"
  | "wrong-base"
  | "model"
  | "budget"
  | "too-many-steps"
  | "gave-up"
  /** The same failing call, again and again. */
  | "stuck"
  /** Answers that were cut by their length, again and again. */
  | "cut"
  | "nothing-changed"
  | "nothing-changed-red"
  | "checks-red"
  | "checks-not-run"
  | "protected-paths"
  | "secret-in-change"
  | "protected-branch"
  | "no-permission"
  | "declined"
  | "push-failed"
  | "archived"
  /** The repository has no commit yet. */
  | "empty"
  /** An open pull closes the issue. */
  | "has-pull"
  | "closed";

/** The value, or the end of the task: what the forge refuses here the task cannot do without. */
export async function orStop<T>(answer: Promise<ForgeAnswer<T>>): Promise<T> {
  const got = await answer;
  if (got.ok) return got.value;
  const { code, message, scope } = got.failure;
  if (code === "aborted") throw new SolveStop("stopped");
  const kind =
    code === "unauthorized" ? "forge-token" : code === "not-found" ? "forge-missing" : ("forge" as const);
  throw new SolveStop(kind, scope === undefined ? message : `${message} (${scope})`);
}

/** The branch that the change is for: the task's own, else the repository's; a repository without a commit has none. */
export function baseBranchOf(
  { base }: Pick<SolveTask, "base">,
  repository: Pick<ForgeRepository, "name" | "defaultBranch">,
): string {
  const branch = base?.branch ?? repository.defaultBranch;
  if (branch === null) throw new SolveStop("empty", repository.name);
  return branch;
}

/** The end of a task whose model gave no answer. */
export function stopWithoutAnswer(unanswered: UnfinishedCompletion): SolveStop {
  if (unanswered.kind === "aborted") return new SolveStop("stopped");
  if (unanswered.kind === "cut") return new SolveStop("cut");
  const { code, message } = completionFailure(unanswered);
  return new SolveStop(code === "over-budget" ? "budget" : "model", message);
}

/** Requests to the model that are left; a resumed task has all of them again. */
export function stepsLeft({ steps, stepsBefore = 0 }: SolveTask, maxSteps: number): number {
  return maxSteps - (steps - stepsBefore);
}

const KEEP_MS = 60_000;

/**
 * Keeps the change so far, also after an order to stop, so that a new container can begin with it. If the container cannot report its
 * difference, the earlier change stays, and a text states why. `exact`, for a change that is checked and published, reads every
 * file: too slow for each step.
 */
export async function keepChange(work: SolveWork, { exact = false } = {}): Promise<string | null> {
  const { environment } = work;
  if (environment === null) return null;
  const difference = await environment.difference(AbortSignal.timeout(KEEP_MS), { exact });
  if (typeof difference === "string") return difference;
  const { tree, unborn } = difference;
  const patch = Buffer.from(difference.patch).toString("base64");
  if (patch === work.task.patch && tree === work.task.tree) return null;
  await work.update({ patch, tree, unborn });
  await work.note({ kind: "kept", bytes: difference.patch.length });
  return null;
}
