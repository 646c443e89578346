import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { Forge, ForgeItem, ForgeRepository, ForgeUser } from "../ports/forge.ts";
import type { Logger } from "../ports/logger.ts";
import type { Model, ModelFailure } from "../ports/model.ts";
import type { Publisher } from "../ports/publisher.ts";
import type { SolveStore, SolveTask } from "../ports/solve-store.ts";
import type { TaskEnvironment, TaskEnvironments } from "../ports/task-environments.ts";

export interface SolveParts {
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
  readonly now: () => Date;
  readonly clock: () => number;
  /** This process, for leases. */
  readonly owner: string;
  /** Whether an owner, as leases name it, is surely dead. */
  readonly isGone: (owner: string) => boolean;
}

export interface SolveConfig {
  readonly maxSteps: number;
  readonly label: string;
  readonly testCommand: string | null;
  readonly rules: readonly string[];
  readonly insecureHosts: readonly string[];
  /** How often the forge is asked for news while a task runs. */
  readonly newsEveryMs: number;
  /** How often the lease is renewed, and orders are looked for. */
  readonly renewEveryMs: number;
  /** How often the progress comment is edited at most. */
  readonly progressEveryMs: number;
}

/** A task while somebody works on it. */
export interface Work {
  task: SolveTask;
  readonly signal: AbortSignal;
  /** Saves a change of the task. */
  update(change: Partial<SolveTask>): Promise<void>;
  readonly bot: ForgeUser;
  item: ForgeItem;
  readonly repository: ForgeRepository;
  environment: TaskEnvironment | null;
  /** For whoever watches: the terminal, the console. */
  readonly say: (text: string) => void;
}
