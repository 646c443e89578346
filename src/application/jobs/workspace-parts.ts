import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { JobArchive } from "../ports/jobs.ts";
import type { Logger } from "../ports/logger.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Staging, Transactions } from "../ports/jobs-transaction.ts";
import type { OwnGit } from "./own-git.ts";
import type { EditPolicy } from "./policy.ts";

/** `worker.limits`: 0 is none; sizes in bytes. */
export interface LimitSettings {
  readonly memory: number;
  readonly file_size: number;
  readonly open_files: number;
  readonly processes: number;
  readonly disk: number;
}

/** The slice of `worker:` that jobs are carried out by. Times are in seconds, sizes in bytes. */
export interface WorkerConfig {
  readonly dry_run: boolean;
  readonly stop_on_error: boolean;
  readonly auto_commit: boolean;
  readonly commit_message_prefix: string;
  readonly command_timeout: number;
  readonly git_timeout: number;
  readonly show_execution_summary: boolean;
  readonly undo_quota: number;
  readonly journal_days: number;
  readonly output_limit: number;
  readonly env_pass: readonly string[];
  readonly run_hooks: boolean;
  readonly confine: "auto" | "on" | "off";
  readonly limits: LimitSettings;
  readonly network: { readonly mode: "on" | "off" | "allow_list" };
}

/** Everything that jobs of a workspace need, wired by hand. */
export interface WorkspaceDeps {
  /** The absolute folder of the workspace. */
  readonly root: string;
  readonly config: WorkerConfig;
  readonly staging: Staging;
  readonly transactions: Transactions;
  readonly archive: JobArchive;
  readonly policy: EditPolicy;
  readonly planOptions: Required<PlanOptions>;
  /** Loaded when the first process is needed. */
  readonly processes: () => Promise<ProcessRunner>;
  /** Null where no git can be found that jobs cannot have put there. */
  readonly ownGit: () => Promise<OwnGit | null>;
  readonly logger: Logger;
  readonly messages: Messages;
  readonly mask: (text: string) => string;
  /** Whether the user trusts what this folder holds, as far as to run it where nothing confines. */
  readonly isTrusted: () => boolean;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** This process, so that a job whose process died is told from one that runs. */
  readonly pid: number;
  readonly birth: string;
  /** Asked right before a job is brought in: a process that others take for dead must not. Default: it may. */
  readonly mayCommit?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}
