import type { PatchCommand } from "../../domain/patch/command.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { Change, CommandResult } from "../../domain/patch/result.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/transaction.ts";
import { ViewFault } from "../ports/view.ts";
import { failed, type Outcome, runFileEdit } from "./file-edit.ts";
import { guardChanges } from "./guard-changes.ts";
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
    parts.emit({ type: "command_started", index, command: maskCommand(command, parts.mask) });
    const started = parts.clock();
    const { outcome, changes } = await runOne(parts, command);
    const result: CommandResult = {
      command,
      success: outcome.ok,
      output: parts.mask(outcome.output),
      error: parts.mask(outcome.error),
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
  { transaction, policy, planOptions }: RunParts,
  ran: Outcome,
): { outcome: Outcome; changes: readonly Change[] } {
  const { protection } = policy;
  const { changes, restored, noticed } = guardChanges(
    { transaction, protection, sha1: planOptions.sha1 },
    transaction.takeChanges({ processRan: true }),
  );
  const warnings = [...ran.warnings, ...noticed.map((path) => `protected file touched: ${path}`)];
  if (restored.length === 0) return { outcome: { ...ran, warnings }, changes };
  const said = restored.map(({ why }) => `${why} (restored)`);
  const fails = protection.action === "error" || restored.some(({ why }) => !why.startsWith("protected"));
  if (!fails) return { outcome: { ...ran, warnings: [...warnings, ...said] }, changes };
  return {
    outcome: {
      ok: false,
      output: ran.output,
      error: [ran.error, ...said].filter(Boolean).join("\n"),
      warnings,
    },
    changes,
  };
}

/** Expected faults become failed commands; anything else is a bug and goes up. */
function attempt(use: () => Outcome): Outcome {
  try {
    return use();
  } catch (error) {
    if (error instanceof ViewFault || error instanceof PolicyFault) return failed(error.message);
    throw error;
  }
}

export function maskCommand(command: PatchCommand, mask: (text: string) => string): PatchCommand {
  const { edit: _, ...plain } = command;
  return { ...plain, target: mask(command.target), content: mask(command.content) };
}
