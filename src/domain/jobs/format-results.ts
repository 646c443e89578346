import type { PatchCommand } from "../patch/command.ts";
import type { CommandResult } from "./result.ts";
import type { Messages } from "../texts/messages.ts";

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
