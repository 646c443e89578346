import type { PatchCommand } from "../patch/patch-command.ts";
import type { Messages } from "../texts/jobs.ts";
import type { UndoState } from "./job-status.ts";
import type { Note } from "./note.ts";

type ChangeKind = "added" | "modified" | "deleted";

/** One path that a command or a job really changed. Paths are relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: ChangeKind;
  /** The part that git ignores: the path itself or the folder above, which ends in a slash. */
  readonly ignored?: string;
}

/** The kind of failure in a command's error text, where the user can be given more than that text. */
export type FailureReason =
  | { readonly code: "timeout"; readonly seconds: number }
  | { readonly code: "outside-workspace" }
  | { readonly code: "git-missing" }
  | { readonly code: "not-a-repository" }
  | { readonly code: "no-space" }
  | { readonly code: "read-only" };

export interface ProcessEnd {
  /** Null when a signal, a timeout or an abort ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandResult {
  readonly command: PatchCommand;
  readonly success: boolean;
  readonly output: string;
  readonly error: string;
  readonly reason?: FailureReason;
  /** How a shell command ended and what it printed, stream by stream; absent where nothing was started. */
  readonly process?: ProcessEnd;
  /** Milliseconds. */
  readonly duration: number;
  readonly changes: readonly Change[];
  /** Information for the user beside success or failure: a protected file was touched, who committed, … */
  readonly notes: readonly Note[];
}

export interface PatchExecutionResult {
  readonly jobId: string;
  readonly success: boolean;
  readonly executedCmds: number;
  readonly failedCmds: number;
  readonly results: readonly CommandResult[];
  readonly summary: string;
  readonly gitCommit?: string;
  readonly changes: readonly Change[];
  readonly undo: UndoState;
  readonly dryRun: boolean;
  readonly notes: readonly Note[];
}

/** `✓ [1] type action target (12ms)`, and the error four spaces in on a line of its own. */
export function formatExecutionResults(results: readonly CommandResult[], messages: Messages): string {
  return results.map((result, index) => formatResult(result, index, messages)).join("\n");
}

function formatResult(result: CommandResult, index: number, messages: Messages): string {
  const { type, action, target } = result.command;
  const status = result.success ? "✓" : "✗";
  const line = `${status} [${index + 1}] ${type} ${action} ${oneLine(target)} (${result.duration}ms)`;
  return result.error === "" ? line : `${line}\n    ${messages.errorLabel} ${result.error}`;
}

/** A shell script stands as its first line that says something. */
export function oneLine(target: string): string {
  const trimmed = target.trim();
  const end = trimmed.search(/\r?\n/);
  return end === -1 ? trimmed : `${trimmed.slice(0, end).trimEnd()} …`;
}

/** A command as it would run: a script with all its lines, so that none is out of sight. */
export function wholeCommand({ type, action, target, content }: PatchCommand): string {
  const isScript = type === "shell_command" && content !== "";
  const text = (isScript ? `${target} ${content}` : target).replaceAll("\r\n", "\n").trim();
  return `${type} ${action} ${text.replaceAll("\n", "\n    ")}`;
}
