import type { ParseFailure } from "../../domain/patch/parse-error.ts";
import type { PatchExecutionResult } from "../../domain/jobs/result.ts";
import type { TransactionKind } from "../../domain/jobs/transaction-kind.ts";
import type { JobOutcome } from "../ports/jobs.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { BeginResult, Conflict, EvictedJob } from "../ports/jobs-transaction.ts";
import type { AutoCommitResult } from "./auto-commit.ts";

export interface ExecuteRequest {
  readonly patch: string;
  /** What the user asked for; its first line titles the job. */
  readonly request?: string;
  /** The coder's plan; its first line titles the job where nobody asked in words. */
  readonly plan?: string;
  readonly groupId?: string;
  readonly source: string;
  /** `<channel>:<chat>`; for the log. */
  readonly sessionKey?: string;
  readonly dryRun: boolean;
  readonly preview: boolean;
  /** Lets a preview reach the network; a job that is applied always may. */
  readonly allowNetwork?: boolean;
  readonly atomic: boolean;
  readonly stopOnError: boolean;
  readonly autoCommit: boolean;
  /** Instead of `worker.command_timeout`. */
  readonly commandTimeoutSeconds?: number;
  readonly signal: AbortSignal;
  /** Called once, before the first command. */
  readonly onStart?: (jobId: string) => void;
  /** Progress for a person who is watching. */
  readonly onEvent?: (event: JobEvent) => void;
  readonly onOutput?: (text: string) => void;
}

type Choice = "dryRun" | "preview" | "atomic" | "stopOnError" | "autoCommit";

/**
 * A job as a caller asks a workspace for it. Dry run, stop on error and auto-commit default to its settings; a preview
 * and all-or-nothing are only what the caller asks for.
 */
export type JobRequest = Omit<ExecuteRequest, Choice> & { readonly [K in Choice]?: boolean | undefined };

export type Execution =
  | { readonly status: "parse-error"; readonly failure: ParseFailure }
  | {
      readonly status: "refused";
      readonly refusal: Exclude<BeginResult, { ok: true }>["refusal"] | AutoCommitRefusal | SettingRefusal;
    }
  | {
      readonly status: "ran";
      readonly outcome: JobOutcome | "dry-run";
      readonly kind: TransactionKind;
      readonly result: PatchExecutionResult;
      /** Commands of the patch; more than there are results where the job stopped early. */
      readonly totalCmds: number;
      readonly warnings: readonly string[];
      readonly conflicts: readonly Conflict[];
      /** Jobs whose undo data went because the quota was passed. */
      readonly evicted: readonly EvictedJob[];
      readonly quotaBytes: number;
      readonly groupId: string;
      /** Background processes that ended with the job. */
      readonly ended: readonly string[];
      readonly outside: readonly string[];
      /** A failure was to be rolled back, but this kind of transaction cannot. */
      readonly keptAfterFailure: boolean;
    };

export interface AutoCommitRefusal {
  readonly code: "auto-commit";
  readonly cause: Exclude<AutoCommitResult, { ok: true }>["code"];
  readonly message: string;
}

/** The configuration asks for what cannot be had: confinement on a machine without, a preview without staging. */
export interface SettingRefusal {
  readonly code: "confinement" | "network" | "preview";
  readonly message: string;
}
