import type { TaskUsage } from "../../domain/models/model-facts.ts";
import type { ModelChoiceOfRole, ModelFailure, ModelRole, Models, ModelUsage } from "./models.ts";

/** Models whose use is recorded and kept within the day's budget: everything that answers a message takes its models from here. */
export interface Meter {
  /** `role`: the one that will be asked. Without it nothing is known of the local server's models until `models.look`. */
  open(context: MeterContext, chosen?: ChosenModels, role?: ModelRole): Promise<MeteredModels>;
}

export interface MeterContext {
  readonly chatKey: string;
  readonly sessionId: string;
  readonly groupId: string;
}

export type ChosenModels = Readonly<Partial<Record<ModelRole, ModelChoiceOfRole>>>;

export interface ModelCall extends MeterContext {
  readonly role: ModelRole;
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
  readonly begun: Date;
  readonly ended: Date;
  /** Null when it did not finish. */
  readonly usage: ModelUsage | null;
  readonly costUsd: number | null;
  /** The failure's code, or `aborted`. */
  readonly failure: string | null;
}

export interface MeteredModels {
  readonly models: Models;
  /** The reply's notices about the budget, each once. */
  notices(): readonly BudgetNotice[];
  /** The models that answered in place of another, each once. */
  standIns(): readonly StandIn[];
  used(): UsedByMessage;
  /** The same models for a part of the message: `used` says what this part used, and the whole counts it, too. */
  part(): MeteredModels;
  /** Worker CLIs bring models of their own, which count all the same. */
  readonly workers: WorkerAccount;
}

export interface UsedByMessage extends ModelUsage {
  /** Of the last request and its answer: what the conversation with that model holds by now. */
  readonly contextTokens: number;
  /** Of what has a price. */
  readonly costUsd: number;
  /** Some of it was answered by a model whose price is unknown. */
  readonly isUnpriced: boolean;
}

export interface WorkerAccount {
  /** Why none may run now: the day's budget is spent, and no local model can replace that of a CLI. */
  refusal(): Promise<ModelFailure | null>;
  count(kind: string, used: TaskUsage): Promise<void>;
}

export type BudgetNotice = { readonly spentUsd: number; readonly dailyUsd: number } & (
  | { readonly kind: "warn" }
  /** `local`: one replaced a coder's cloud model. `unpriced`: its price is unknown, so the budget does not count it. */
  | { readonly kind: "local" | "unpriced"; readonly model: string }
);

/** Another coder's model answered in the place of the one that was asked. */
export interface StandIn {
  readonly asked: ModelRole;
  readonly answered: ModelRole;
  readonly model: string;
  /** Why the one that was asked could not. */
  readonly code: ModelFailure["code"];
}
