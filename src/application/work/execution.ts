import type { ParseFailure } from "../../domain/patch/parse-error.ts";
import type { PatchExecutionResult } from "../../domain/patch/result.ts";
import type { JobOutcome } from "../ports/jobs.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { Begun, Conflict, Evicted, TransactionKind } from "../ports/transaction.ts";
import type { AutoCommit } from "./auto-commit.ts";

export interface ExecuteRequest {
  readonly patch: string;
  /** The coder's plan; its first line titles the job. */
  readonly plan?: string;
  readonly groupId?: string;
  readonly source: string;
  readonly dryRun: boolean;
  readonly preview: boolean;
  readonly atomic: boolean;
  readonly stopOnError: boolean;
  readonly autoCommit: boolean;
  readonly signal: AbortSignal;
  /** Progress for a person who is watching. */
  readonly onEvent?: (event: JobEvent) => void;
  readonly onOutput?: (text: string) => void;
}

export type Execution =
  | { readonly status: "parse-error"; readonly failure: ParseFailure }
  | {
      readonly status: "refused";
      readonly refusal: Exclude<Begun, { ok: true }>["refusal"] | AutoCommitRefusal;
    }
  | {
      readonly status: "ran";
      readonly outcome: JobOutcome | "dry-run";
      readonly kind: TransactionKind;
      readonly result: PatchExecutionResult;
      readonly warnings: readonly string[];
      readonly conflicts: readonly Conflict[];
      readonly evicted: readonly Evicted[];
      /** Background processes that ended with the job. */
      readonly ended: readonly string[];
      readonly shellRan: boolean;
      readonly outside: readonly string[];
    };

export interface AutoCommitRefusal {
  readonly code: "auto-commit";
  readonly cause: Exclude<AutoCommit, { ok: true }>["code"];
  readonly message: string;
}
