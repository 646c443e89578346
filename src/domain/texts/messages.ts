import type { ConfigProblem, ConfigWarning } from "./config-problem.ts";

export type Locale = "ja" | "en";

export interface CommandCounts {
  readonly total: number;
  readonly fileEdits: number;
  readonly shellCommands: number;
  readonly gitOperations: number;
}

export type TransactionKind = "direct" | "overlay" | "copy" | "none";

/** Why a transaction kind was chosen. */
export type TransactionReason =
  | "file-edits-only"
  | "configured"
  | "overlay-available"
  | "no-bubblewrap"
  | "no-user-namespaces"
  | "mount-below-workspace"
  | "not-linux"
  | "overlay-failed";

/** What a job cannot take back. */
export type NotCovered = "network" | "daemons" | "other-folders";

/** Why a path could not be read or written. */
export type FileTrouble =
  | "no-space"
  | "read-only"
  | "permission-denied"
  | "not-text"
  | "is-directory"
  | "not-directory"
  | "vanished"
  | "exists"
  | "not-found"
  | "busy"
  | "name-too-long";

/** What a sandbox is made of. */
export type SandboxPart = "bubblewrap" | "setpriv" | "user-namespaces" | "overlay";

/** What is promised of commands on this machine. */
export type Promised = "undo" | "confined" | "preview-offline" | "loopback-reachable";

/** What `doctor` and refusals advise. */
export type Remedy =
  | "install-git"
  | "init-repository"
  | "install-bubblewrap"
  | "install-util-linux"
  | "other-file-system"
  | "allow-user-namespaces"
  | "raise-copy-limit"
  | "transaction-none"
  | "raise-undo-quota"
  | "free-space"
  | "create-workspace"
  | "trust-workspace"
  | "set-git-identity"
  | "start-docker"
  | "start-ollama";

/**
 * Everything PicoClaw says to a person, one member per message; `ja.ts` and `en.ts` are its two catalogues.
 * Nothing here ends in a newline.
 */
export interface Messages {
  readonly locale: Locale;

  // The result of a job
  readonly parseError: string;
  parseErrorDetail(detail: string, line: number | undefined): string;
  commandFailed(detail: string): string;
  timeout(seconds: number): string;
  readonly securityViolation: string;
  patchFailed(detail: string): string;
  readonly completed: string;
  readonly failed: string;
  readonly details: string;
  readonly errorLabel: string;
  summary(counts: { readonly total: number; readonly succeeded: number; readonly failed: number }): string;
  gitCommit(hash: string): string;
  executionSummary(counts: CommandCounts): string;
  changesHeader(count: number): string;
  executionCompleted(summary: string): string;
  executionFailed(error: string): string;
  rolledBack(error: string): string;
  cannotRollBack(error: string): string;
  jobLine(jobId: string): string;
  undoHint(jobId: string): string;

  // The reply in a chat
  chatCompleted(reply: {
    readonly succeeded: number;
    readonly total: number;
    readonly plan: string;
    readonly summary: string;
  }): string;
  chatPartly(reply: { readonly succeeded: number; readonly total: number; readonly error: string }): string;
  workerFailed(error: string): string;

  // Transaction
  commitConflict(conflict: { readonly jobId: string; readonly paths: readonly string[] }): string;
  preview(preview: { readonly jobId: string; readonly changes: number }): string;
  previewApplied(jobId: string): string;
  dryRunHeader(count: number): string;
  dryRunLine(index: number, command: string): string;
  transactionKind(kind: TransactionKind, reason: TransactionReason): string;
  copyLimitExceeded(size: { readonly bytes: number; readonly limitBytes: number }): string;
  notCovered(what: readonly NotCovered[]): string;
  readonly shellNotUndoable: string;
  readonly aborted: string;
  readonly executorEnded: string;
  installationIncomplete(path: string): string;
  readonly notConfined: string;
  readonly renameAcrossLayers: string;
  readonly foreignOwner: string;
  readonly linkAcrossLayers: string;
  notRun(count: number): string;
  readonly confinementUnavailable: string;
  readonly previewUnavailable: string;
  nothingApplied(jobId: string): string;
  changedOutside(paths: readonly string[]): string;
  endedWithJob(commands: readonly string[]): string;
  protectedRestored(paths: readonly string[]): string;
  protectedCreated(paths: readonly string[]): string;
  protectedLogged(paths: readonly string[]): string;

  // Undo, redo, history
  undone(jobId: string, paths: number): string;
  undonePartly(undone: { readonly jobId: string; readonly refs: readonly string[] }): string;
  undoConflict(conflict: { readonly jobId: string; readonly paths: readonly string[] }): string;
  readonly nothingToUndo: string;
  readonly nothingToRedo: string;
  undoList(jobId: string, paths: readonly string[]): string;
  redone(jobId: string, paths: number): string;
  undoUnavailable(jobId: string): string;
  notAPreview(jobId: string): string;
  wrongState(jobId: string, state: string): string;
  changedByJob(path: string, jobId: string): string;
  foldersKept(paths: readonly string[]): string;
  quotaEvicted(evicted: {
    readonly jobIds: readonly string[];
    readonly bytes: number;
    readonly quotaBytes: number;
  }): string;
  readonly noJobs: string;
  readonly jobsHeader: {
    readonly job: string;
    readonly time: string;
    readonly result: string;
    readonly changes: string;
    readonly undo: string;
  };
  readonly jobStates: Readonly<Record<JobState, string>>;
  readonly undoStates: Readonly<Record<"available" | "unavailable" | "none" | "undone", string>>;
  unknownJob(jobId: string): string;
  jobRunning(jobId: string, pid: number | undefined): string;
  jobDied(jobId: string): string;
  jobStopped(jobId: string): string;
  jobNotRunning(jobId: string): string;
  jobInterrupted(jobId: string): string;
  jobRepaired(jobId: string, outcome: "completed" | "rolled-back"): string;

  // Git
  readonly gitMissing: string;
  notARepository(path: string): string;
  autoCommitAborted(error: string): string;
  autoCommitFailed(error: string): string;
  readonly identityFallback: string;
  readonly signingSkipped: string;

  // Workspace and files
  workspaceMissing(path: string): string;
  workspaceNotADirectory(path: string): string;
  workspaceBusy(path: string): string;
  fileTrouble(trouble: FileTrouble, path: string): string;
  remedy(remedy: Remedy): string;
  sandboxPart(part: SandboxPart, works: boolean): string;
  fileSystems(workspaceType: string, storage: string, storageType: string): string;
  mountsBelow(paths: readonly string[]): string;
  promise(promised: Promised, kept: boolean): string;

  // Configuration, usage
  readonly configInvalid: string;
  readonly configValid: string;
  configProblem(problem: ConfigProblem): string;
  configWarning(warning: ConfigWarning): string;
  workspaceTrusted(path: string): string;
  readonly nothingToTrust: string;
  usageError(detail: string): string;
  unknownCommand(name: string, nearest: string | undefined): string;
  unknownFlag(name: string, nearest: string | undefined): string;
  missingValue(flag: string): string;
  readonly noInput: string;
  readonly warningLabel: string;
  unexpectedError(detail: string): string;
}

export type JobState =
  | "succeeded"
  | "failed"
  | "preview"
  | "undone"
  | "rolled-back"
  | "interrupted"
  | "dry-run"
  | "running";
