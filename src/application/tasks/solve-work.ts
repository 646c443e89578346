import type { PriorProgress } from "../../domain/tasks/so-far.ts";
import type { StepFacts, TaskStep } from "../../domain/tasks/step.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { WorkKeeper } from "../serve/keep-work.ts";
import type { Patience } from "../models/complete.ts";
import type { BudgetNotice, WorkerAccount } from "../models/meter.ts";
import type { Forge, ForgeItem, ForgeRepository, ForgeUser } from "../ports/forges.ts";
import type { Logger } from "../ports/logger.ts";
import type { Model, ModelFailure } from "../ports/models.ts";
import type { Publisher } from "../ports/publisher.ts";
import type { ContainerClaim } from "../ports/containers.ts";
import type { SolveStore, SolveTask } from "../ports/tasks.ts";
import type { TaskEnvironment, TaskEnvironments } from "../ports/task-environments.ts";

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
  /** Removes secrets from whatever is posted, pushed or stored. */
  readonly mask: (text: string) => string;
  /** Values that no change may bring into a repository. */
  readonly secrets: () => readonly string[];
  readonly now: () => Date;
  readonly clock: () => number;
  /** What a project's own `picoclaw.yaml` says of it; nothing that widens power. */
  readonly readSettings: (yaml: string) => Promise<ProjectSettings>;
  /** Ends early, without a word, when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** What all answers of the task cost so far in this process. */
  readonly costUsd: () => number;
  /** What is to be said about the day's budget, each once. */
  readonly budgetNotices?: () => readonly BudgetNotice[];
  /** Where a worker CLI's own use goes. */
  readonly workers: WorkerAccount;
  readonly uuid: () => string;
  /** Says that this process lives and works on the task. */
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
}

export interface ProjectSettings {
  readonly rules: readonly string[];
  readonly checkCommand: string | null;
}

export interface SolveConfig {
  readonly maxSteps: number;
  /** How long a model's server that cannot answer is waited for. */
  readonly patienceMs: number;
  readonly label: string;
  readonly testCommand: string | null;
  readonly rules: readonly string[];
  readonly insecureHosts: readonly string[];
  /** Whether a task may change what the forge's machines run. */
  readonly allowCi: boolean;
  /** How often the forge is asked for news while a task runs. */
  readonly newsEveryMs: number;
  /** How often the store is asked for orders. */
  readonly ordersEveryMs: number;
  /** How often the progress comment is edited at most. */
  readonly progressEveryMs: number;
}

/** A task while somebody works on it. */
export interface SolveWork {
  task: SolveTask;
  /** By which it is in hand. */
  readonly claim: ContainerClaim;
  readonly signal: AbortSignal;
  /** Saves a change of the task. */
  update(change: Partial<SolveTask>): Promise<void>;
  readonly bot: ForgeUser;
  item: ForgeItem;
  readonly repository: ForgeRepository;
  environment: TaskEnvironment | null;
  /** Whether the coder's work was finished before, so that only checking and publishing are left. */
  worked: boolean;
  /** Whether its change went through the checks already. */
  judged: boolean;
  /** Whose container `environment` is: the task's own, or that of the candidate that was kept. */
  environmentId: string;
  /** One of several, whose words the forge does not hear. */
  readonly isCandidate: boolean;
  readonly patience: Patience;
  /** What was done before it was taken up, by its steps; null where nothing was. */
  readonly soFar: PriorProgress | null;
  /** When it was last touched before it was taken up. */
  readonly since: string;
  /** How much of the cost is in the steps already. */
  costNoted: number;
  /** Writes down what happened. */
  note(step: StepFacts & Pick<TaskStep, "candidate">): Promise<void>;
  /** For whoever watches: the terminal, the console. */
  readonly say: (text: string) => void;
}
