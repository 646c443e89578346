import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change, CommandResult, FailureReason, ProcessEnd } from "../../domain/jobs/result.ts";
import { maskNote } from "../../domain/jobs/note.ts";
import { ViewFault } from "../ports/view.ts";
import { runFileEdit } from "./file-edit.ts";
import { maskCommand } from "./mask-command.ts";
import { type CommandOutcome, failedOutcome } from "./outcome.ts";
import { PolicyFault } from "./policy.ts";
import type { RunCommandsDeps } from "./run-parts.ts";

/**
 * Carries out commands in the order of the patch, in a view. Per command:
 *   1. run it (an edit in process, a shell line or git as a process of the job)
 *   2. take the change set it really caused
 *   3. after a process, put back what it may not touch
 *   4. tell the journal
 */
export async function runCommands(
  parts: RunCommandsDeps,
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
      ...(outcome.process !== undefined && { process: maskEnd(outcome.process, parts.mask) }),
      duration: Math.round(parts.clock() - started),
      changes,
      notes: outcome.warnings.map((note) => maskNote(note, parts.mask)),
    };
    results.push(result);
    const { success, output, error, duration, notes } = result;
    parts.emit({ type: "command_finished", index, success, output, error, duration, changes, notes });
    if (!outcome.ok && parts.stopOnError) break;
  }
  return results;
}

function maskEnd({ exitCode, stdout, stderr }: ProcessEnd, mask: RunCommandsDeps["mask"]): ProcessEnd {
  return { exitCode, stdout: mask(stdout), stderr: mask(stderr) };
}

async function runOne(
  parts: RunCommandsDeps,
  command: PatchCommand,
): Promise<{ outcome: CommandOutcome; changes: readonly Change[] }> {
  const { transaction, policy } = parts;
  switch (command.type) {
    case "file_edit": {
      const edits = { view: transaction.view, policy, planOptions: parts.planOptions };
      const run =
        command.edit === undefined ? runFileEdit : (await import("./matched-edit.ts")).runMatchedEdit;
      const outcome = attemptCommand(() => run(edits, command));
      return { outcome, changes: transaction.takeChanges({ processRan: false }) };
    }
    case "shell_command":
    case "git_operation": {
      const { runProcessCommand } = await import("./work-run-process-command.ts");
      return runProcessCommand(parts, command);
    }
    default:
      return { outcome: failedOutcome(`unknown command type: ${command.type}`), changes: [] };
  }
}

/** Expected faults become failed commands; anything else is a bug and goes up. */
function attemptCommand(use: () => CommandOutcome): CommandOutcome {
  try {
    return use();
  } catch (error) {
    if (error instanceof PolicyFault) return failedOutcome(error.message);
    if (error instanceof ViewFault) return failedOutcome(error.message, "", viewFaultReason(error));
    throw error;
  }
}

function viewFaultReason({ code }: ViewFault): FailureReason | undefined {
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
