/** Why a model gave no answer, as far as a person can do something about it. */
export type ModelTrouble =
  | "unreachable"
  | "timeout"
  | "rate-limited"
  | "server-error"
  | "unauthorized"
  | "unknown-model"
  | "context-too-long"
  | "bad-request"
  | "cut-off"
  | "empty"
  | "malformed"
  | "aborted"
  | "no-key"
  | "not-configured"
  | "refused-remote"
  | "over-budget"
  | "cut-by-length"
  | "filtered"
  | "deadline";

export interface AskedModel {
  readonly agent: string;
  readonly role: string;
  readonly provider: string;
  readonly model: string;
}

export interface BudgetWords {
  readonly kind: "warn" | "local" | "unpriced";
  readonly spentUsd: number;
  readonly dailyUsd: number;
  readonly model?: string;
}

export type WhatIsDoing = "waiting" | "deciding" | "thinking" | "running" | "tool";

/** Everything the conversation says to a person in its own name; `ja.ts` and `en.ts` are its two catalogues. */
export interface ChatMessages {
  // A coder's job
  /** A job, or a group of several. */
  undoHint(name: string): string;
  outputOf(command: string): string;
  riskNote(risk: string): string;
  readonly noProposal: string;
  proposalUnusable(detail: string): string;
  readonly sentBack: string;
  needsFiles(paths: readonly string[]): string;
  mcpPartly(reply: { readonly succeeded: number; readonly total: number; readonly error: string }): string;
  mcpCompleted(reply: { readonly succeeded: number; readonly total: number }): string;
  readonly browserNotUndoable: string;
  readonly browserMissing: string;
  mcpUnavailable(server: string, detail: string): string;
  /** `/preview` and `/apply`. */
  previewReady(jobId: string, changes: number): string;
  previewApplied(jobId: string): string;
  readonly noPreview: string;

  // Models
  modelTrouble(trouble: ModelTrouble, asked: AskedModel, detail: string): string;
  retrying(attempt: number, seconds: number, why: string): string;
  readonly compacted: string;
  readonly answerCut: string;
  budget(notice: BudgetWords): string;
  cutOver(sessionId: string): string;
  cloudAnswered(model: string): string;
  rerouted(from: string, to: string): string;
  loopLimit(loops: number): string;
  timeLimit(seconds: number): string;
  /** The same call of a tool failed again and again. */
  stuck(tool: string): string;

  // Commands
  undone(count: number): string;
  undoneJob(jobId: string): string;
  redone(count: number): string;
  redoHint(name: string): string;
  readonly nothingToUndo: string;
  readonly nothingToRedo: string;
  notYourJob(jobId: string): string;
  undoConflict(paths: readonly string[]): string;
  redoConflict(paths: readonly string[]): string;
  readonly noJobs: string;
  dryState(on: boolean): string;
  readonly dryUsage: string;
  readonly previewUsage: string;
  readonly stopped: string;
  readonly nothingRuns: string;
  readonly noDiff: string;
  diffCut(lines: number): string;
  unknownCommand(name: string, nearest: string | undefined): string;
  readonly help: readonly (readonly [command: string, what: string])[];

  // The message itself
  readonly emptyMessage: string;
  messageTooLong(limit: string): string;
  readonly aborted: string;
  unexpected(detail: string): string;

  // The terminal
  doing(what: WhatIsDoing, detail: string): string;
  readonly welcome: string;
  readonly goodbye: string;
  readonly stopHint: string;
  footer(facts: {
    readonly model: string;
    readonly local: boolean;
    readonly tokens: number;
    readonly costUsd: number;
  }): string;
  readonly actions: {
    readonly undo: string;
    readonly redo: string;
    readonly diff: string;
    readonly apply: string;
    readonly jobs: string;
  };
}
