export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * One line per call. `msg` is the sentence for a person, `event` the name for a program; {@link LOG} holds the pairs,
 * so a call reads `log.info("worker", ...LOG.commandExecuted, { command_index: 0 })`.
 *
 * Never throws and never fails the caller: a line that cannot be written is lost. Every string in `fields`,
 * however deep, is masked before it is written. Fields are snake_case.
 */
export interface Logger {
  debug(component: string, msg: string, event: string, fields?: LogFields): void;
  info(component: string, msg: string, event: string, fields?: LogFields): void;
  warn(component: string, msg: string, event: string, fields?: LogFields): void;
  error(component: string, msg: string, event: string, fields?: LogFields): void;
}

/** The worker's `[msg, event]` pairs. */
export const LOG = {
  patchParse: ["worker.patch_parse", "worker.patch_parse"],
  executionSummary: ["worker.execution_summary", "worker.execution_summary"],
  executionStart: ["worker.patch_execution_start", "worker.execution_started"],
  commandExecuted: ["worker.command_executed", "worker.command_executed"],
  commandFailed: ["worker.command_failed", "worker.command_failed"],
  executionCompleted: ["worker.patch_execution_complete", "worker.execution_completed"],
  executionFailed: ["worker.patch_execution_complete", "worker.execution_failed"],
  executionError: ["worker.patch_execution_error", "worker.execution_failed"],
  autoCommitSuccess: ["worker.auto_commit_success", "worker.auto_commit"],
  autoCommitFailed: ["worker.auto_commit_failed", "worker.auto_commit"],
  holderEnded: ["worker.stopped_holder_ended", "worker.stopped_holder_ended"],
} as const satisfies Readonly<Record<string, readonly [msg: string, event: string]>>;
