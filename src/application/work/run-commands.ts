import type { Messages } from "../../domain/messages/messages.ts";
import type { PatchCommand } from "../../domain/patch/command.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { Change, CommandResult, FailureReason } from "../../domain/patch/result.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/transaction.ts";
import { ViewFault } from "../ports/view.ts";
import { runFileEdit } from "./file-edit.ts";
import { guardChanges } from "./guard-changes.ts";
import { maskCommand } from "./mask-command.ts";
import { failed, type Outcome } from "./outcome.ts";
import { type EditPolicy, PolicyFault } from "./policy.ts";
import { runGit } from "./run-git.ts";
import { type ProcessParts, runShell } from "./run-shell.ts";

export interface RunParts {
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
  readonly mask: (text: string) => string;
  readonly messages: Messages;
  readonly clock: () => number;
  readonly emit: (event: JobEvent) => void;
  readonly onOutput: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Carries out commands in the order of the patch, in a view. Per command:
 *   1. run it (an edit in process, a shell line or git as a process of the job)
 *   2. take the change set it really caused
 *   3. after a process, put back what it may not touch
 *   4. tell the journal
 */
export async function runCommands(
  parts: RunParts,
  commands: readonly PatchCommand[],
): Promise<CommandResult[]> {
  const results: CommandResult[] = [];
  for (const [index, command] of commands.entries()) {
    if (parts.signal.aborted) break;
    const shown = maskCommand(command, parts.mask);
    parts.emit({ type: "command_started", index, command: shown });
    const started = parts.clock();
    const { outcome, changes } = await runOne(parts, command);
    const result: CommandResult = {
      command: shown,
      success: outcome.ok,
      output: parts.mask(outcome.output),
      error: parts.mask(outcome.error),
      ...(outcome.reason !== undefined && { reason: outcome.reason }),
      duration: Math.round(parts.clock() - started),
      changes,
      notes: outcome.warnings.map(parts.mask),
    };
    results.push(result);
    const { success, output, error, duration, notes } = result;
    parts.emit({ type: "command_finished", index, success, output, error, duration, changes, notes });
    if (!outcome.ok && parts.stopOnError) break;
  }
  return results;
}

async function runOne(
  parts: RunParts,
  command: PatchCommand,
): Promise<{ outcome: Outcome; changes: readonly Change[] }> {
  const { transaction, policy } = parts;
  switch (command.type) {
    case "file_edit": {
      const outcome = attempt(() =>
        runFileEdit({ view: transaction.view, policy, planOptions: parts.planOptions }, command),
      );
      return { outcome, changes: transaction.takeChanges({ processRan: false }) };
    }
    case "shell_command":
    case "git_operation": {
      const processes = await parts.processes();
      const context: ProcessParts = { ...parts, processes };
      const ran =
        command.type === "shell_command"
          ? await runShell(context, command, parts.commandTimeoutSeconds)
          : await runGit(context, command, parts.gitTimeoutSeconds);
      return guard(parts, ran);
    }
    default:
      return { outcome: failed(`unknown command type: ${command.type}`), changes: [] };
  }
}

function guard(
  { transaction, policy, planOptions, messages }: RunParts,
  ran: Outcome,
): { outcome: Outcome; changes: readonly Change[] } {
  const { protection } = policy;
  const { changes, restored, created, logged } = guardChanges(
    { transaction, protection, sha1: planOptions.sha1 },
    transaction.takeChanges({ processRan: true }),
  );
  const warnings = [...ran.warnings];
  if (created.length > 0) warnings.push(messages.protectedCreated(created));
  if (logged.length > 0) warnings.push(messages.protectedLogged(logged));
  const skipped = restored.filter(({ rule }) => rule === "protected" && protection.action === "skip");
  if (skipped.length > 0) warnings.push(messages.protectedRestored(skipped.map(({ path }) => path)));
  const failing = restored.filter((one) => !skipped.includes(one)).map(({ why }) => `${why} (restored)`);
  if (failing.length === 0) return { outcome: { ...ran, warnings }, changes };
  const error = [ran.error, ...failing].filter((line) => line !== "").join("\n");
  return { outcome: { ...ran, ok: false, error, warnings }, changes };
}

/** Expected faults become failed commands; anything else is a bug and goes up. */
function attempt(use: () => Outcome): Outcome {
  try {
    return use();
  } catch (error) {
    if (error instanceof PolicyFault) return failed(error.message);
    if (error instanceof ViewFault) return failed(error.message, "", reasonOf(error));
    throw error;
  }
}

function reasonOf({ code }: ViewFault): FailureReason | undefined {
  switch (code) {
    case "outside":
      return { code: "outside-workspace" };
    case "no-space":
    case "read-only":
      return { code };
    default:
      return undefined;
  }
}
