import type { PatchCommand } from "../../domain/patch/command.ts";
import type { ProcessResult, ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/transaction.ts";
import { failed, type Outcome, succeeded } from "./file-edit.ts";
import type { EditPolicy } from "./policy.ts";
import { resolveTarget } from "./resolve-path.ts";

const SHELLS = new Set(["bash", "sh", "zsh"]);

export interface ProcessParts {
  readonly processes: ProcessRunner;
  readonly transaction: Transaction;
  readonly policy: EditPolicy;
  readonly jobId: string;
  readonly env: Readonly<Record<string, string>>;
  readonly outputLimitBytes: number;
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

export async function runShell(
  parts: ProcessParts,
  command: PatchCommand,
  timeoutSeconds: number,
): Promise<Outcome> {
  if (command.action !== "run") return failed(`unknown shell_command action: ${command.action}`);
  const shell = command.shell || "bash";
  if (!SHELLS.has(shell)) return failed(`unsupported shell: ${shell} (bash, sh or zsh)`);
  const workdir = workingDirectory(parts, command.workdir);
  if (workdir === null) return failed(`workdir outside workspace: ${command.workdir}`);
  const line = command.content === "" ? command.target : `${command.target} ${command.content}`;
  if (line.includes("\0")) return failed("command contains a NUL byte");
  const result = await runInView(
    parts,
    [shell, "-c", line],
    { ...parts.env, ...command.env },
    workdir,
    timeoutSeconds,
  );
  return outcomeOf(result, "command failed", timeoutSeconds);
}

export function runInView(
  parts: ProcessParts,
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  cwd: string,
  timeoutSeconds: number,
): Promise<ProcessResult> {
  return parts.processes.runProcess({
    argv,
    cwd,
    env: { ...env, PWD: cwd },
    timeoutMs: timeoutSeconds * 1000,
    signal: parts.signal,
    outputLimitBytes: parts.outputLimitBytes,
    onOutput: (_, text) => parts.onOutput(text),
    jobMarker: parts.jobId,
  });
}

function workingDirectory({ transaction, policy }: ProcessParts, workdir: string | undefined): string | null {
  const root = transaction.directory as string;
  if (workdir === undefined || workdir === "") return root;
  try {
    const { path } = resolveTarget({ view: transaction.view, rootNames: policy.rootNames }, workdir, {
      followLast: true,
    });
    return path === "" ? root : `${root}/${path}`;
  } catch {
    return null;
  }
}

/** The seeds' wording: what went wrong first, then what the program printed. */
export function outcomeOf(result: ProcessResult, opening: string, timeoutSeconds: number): Outcome {
  const { output } = result;
  const said = output === "" ? "" : ` (output: ${output})`;
  switch (result.outcome) {
    case "exited":
      return result.exitCode === 0
        ? succeeded(output)
        : failed(`${opening}: exit status ${result.exitCode}${said}`, output);
    case "signaled":
      return failed(`${opening}: signal: ${result.signal}${said}`, output);
    case "timed-out":
      return failed(`${opening}: timed out after ${timeoutSeconds} seconds${said}`, output);
    case "aborted":
      return failed(`${opening}: aborted${said}`, output);
    case "not-started":
      return failed(`${opening}: ${result.error?.message ?? "could not be started"}`, output);
  }
}
