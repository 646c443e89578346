import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { EditPolicy } from "./policy.ts";
import type { LimitSettings } from "./workspace-parts.ts";

export type CommandEvent = Extract<JobEvent, { type: "command_started" | "command_finished" }>;

/** What running the commands of a job needs. */
export interface RunCommandsDeps {
  readonly transaction: Transaction;
  readonly policy: EditPolicy;
  readonly processes: () => Promise<ProcessRunner>;
  readonly planOptions: Required<PlanOptions>;
  readonly jobId: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stopOnError: boolean;
  readonly commandTimeoutSeconds: number;
  readonly gitTimeoutSeconds: number;
  readonly outputLimitBytes: number;
  readonly limits: LimitSettings;
  readonly mask: (text: string) => string;
  readonly clock: () => number;
  readonly emit: (event: CommandEvent) => void;
  readonly onOutput: (text: string) => void;
  readonly signal: AbortSignal;
}
