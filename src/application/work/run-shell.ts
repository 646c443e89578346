import type { PatchCommand } from "../../domain/patch/command.ts";
import type { FailureReason } from "../../domain/patch/result.ts";
import type { ProcessResult, ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/transaction.ts";
import { ViewFault } from "../ports/view.ts";
import { failed, type Outcome, succeeded } from "./outcome.ts";
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
  if (!workdir.ok) return failed(workdir.error, "", workdir.reason);
  const line = command.content === "" ? command.target : `${command.target} ${command.content}`;
  if (line.includes("\0")) return failed("command contains a NUL byte");
  const result = await runInView(
    parts,
    [shell, "-c", line],
    { ...parts.env, ...command.env },
    workdir.path,
    timeoutSeconds,
  );
  const outcome = outcomeOf(result, "command failed", timeoutSeconds);
  if (result.outcome === "not-started") return outcome;
  const { exitCode, stdout, stderr } = result;
  return { ...outcome, process: { exitCode: result.outcome === "exited" ? exitCode : null, stdout, stderr } };
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

type Workdir =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly error: string; readonly reason?: FailureReason };

function workingDirectory({ transaction, policy }: ProcessParts, workdir: string | undefined): Workdir {
  const root = transaction.directory as string;
  if (workdir === undefined || workdir === "") return { ok: true, path: root };
  try {
    const { view } = transaction;
    const { path, entry } = resolveTarget({ view, rootNames: policy.rootNames }, workdir, "all");
    if (entry.kind === "directory") return { ok: true, path: path === "" ? root : `${root}/${path}` };
    return { ok: false, error: `workdir is not a directory: ${workdir}` };
  } catch (error) {
    if (!(error instanceof ViewFault)) throw error;
    return error.code === "outside"
      ? {
          ok: false,
          error: `workdir outside workspace: ${workdir}`,
          reason: { code: "outside-workspace" },
        }
      : { ok: false, error: error.message };
  }
}

/** Says what went wrong first, then what the program printed. */
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
      return failed(`${opening}: timed out after ${timeoutSeconds} seconds${said}`, output, {
        code: "timeout",
        seconds: timeoutSeconds,
      });
    case "aborted":
      return failed(`${opening}: aborted${said}`, output);
    case "not-started":
      return failed(`${opening}: ${result.error?.message ?? "could not be started"}`, output);
  }
}
