import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change, CommandResult } from "../../domain/jobs/result.ts";
import type { Proposal } from "../../domain/coder/proposal-proposal.ts";
import type { RedReason } from "../../domain/jobs/job-status.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { JudgedAttempt } from "../checks/checks-project-checks.ts";
import type { Execution } from "../jobs/execution.ts";

/**
 * Where the proposals of one coder are carried out and judged, one after the other, each over what those before it left.
 * Nothing of it is real before `land`.
 */
export interface Bench {
  /** Files as the proposals left them. */
  files(): ProjectFiles;
  carryOut(attempt: BenchAttempt): Promise<CarryOutResult>;
  /** The project's checks over what stands now; null where nobody judges. */
  judge(attempt: number): Promise<JudgedAttempt | null>;
  /**
   * Runs a command over what stands now, in a view that is thrown away; absent where there is none. Null: it cannot be
   * done here.
   */
  readonly tryOut?: (command: string) => Promise<TryOutResult | null>;
  /** Before it lands: what was judged last, or judged anew where the workspace changed since. */
  confirm(attempt: number): Promise<JudgedAttempt | null>;
  /** Commands that reach outward wait until the rest is green: runs them, once. */
  sendOut(attempt: number): Promise<void>;
  changes(): readonly Change[];
  land(): Promise<Execution>;
  /** `red`: why it does not land. */
  keep(red?: RedReason): Promise<Execution>;
  /** Forgets everything. Idempotent, and harmless after an end. */
  drop(reason: string): Promise<void>;
}

export interface TryOutResult {
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  readonly output: string;
}

export interface BenchAttempt {
  /** Counts from 1. */
  readonly number: number;
  readonly proposal: Proposal;
  readonly commands: readonly PatchCommand[];
}

export type CarryOutResult =
  /** Nothing could be staged: no proposal will run. */
  | { readonly kind: "refused"; readonly execution: Extract<Execution, { status: "refused" }> }
  | { readonly kind: "aborted" }
  | { readonly kind: "ran"; readonly results: readonly CommandResult[] };
