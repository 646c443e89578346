import type { FailureReason, Note } from "../../domain/jobs/result.ts";
import type { EarlierStates, PatchCommand } from "../../domain/patch/patch-command.ts";
import { resolveTarget } from "../platform/resolve-target.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type { HeadProcess } from "../ports/jobs-head.ts";
import type { ReachedHost, StartedBy, Transaction } from "../ports/jobs-transaction.ts";
import type { EditPolicy, LimitSettings, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import type { ProcessResult, ProcessRunner } from "../ports/platform-processes.ts";
import { ViewFault } from "../ports/platform-view.ts";
import { type CommandOutcome, failedOutcome, succeededOutcome } from "./file-edit.ts";

const SHELLS = new Set(["bash", "sh", "zsh"]);

export interface RunProcessDeps {
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
  deps: RunProcessDeps,
  command: PatchCommand,
  timeoutSeconds: number,
): Promise<CommandOutcome> {
  if (command.action !== "run") return failedOutcome(`unknown shell_command action: ${command.action}`);
  const shell = command.shell || "bash";
  if (!SHELLS.has(shell)) return failedOutcome(`unsupported shell: ${shell} (bash, sh or zsh)`);
  const workdir = workingDirectory(deps, command.workdir);
  if (!workdir.ok) return failedOutcome(workdir.error, "", workdir.reason);
  const line = command.content === "" ? command.target : `${command.target} ${command.content}`;
  if (line.includes("\0")) return failedOutcome("command contains a NUL byte");
  const result = await runInView(
    deps,
    [shell, "-c", line],
    { ...deps.env, ...command.env },
    workdir.path,
    timeoutSeconds,
  );
  const outcome = toCommandOutcome(result, "command failed", timeoutSeconds);
  if (result.outcome === "not-started") return outcome;
  const { exitCode, stdout, stderr } = result;
  const warnings: Note[] = [
    ...outcome.warnings,
    ...(result.outOfMemory ? [{ code: "memory-ran-out" } as const] : []),
  ];
  return {
    ...outcome,
    warnings,
    process: { exitCode: result.outcome === "exited" ? exitCode : null, stdout, stderr },
  };
}

export function runInView(
  deps: RunProcessDeps,
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  cwd: string,
  timeoutSeconds: number,
): Promise<ProcessResult> {
  return deps.processes.runProcess({
    argv,
    cwd,
    env: { ...env, PWD: cwd },
    timeoutMs: timeoutSeconds * 1000,
    signal: deps.signal,
    outputLimitBytes: deps.outputLimitBytes,
    onOutput: (_, text) => deps.onOutput(text),
    jobMarker: deps.jobId,
  });
}

type Workdir =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly error: string; readonly reason?: FailureReason };

function workingDirectory({ transaction, policy }: RunProcessDeps, workdir: string | undefined): Workdir {
  const root = transaction.directory as string;
  if (workdir === undefined || workdir === "") return { ok: true, path: root };
  try {
    const { view } = transaction;
    const { path, entry } = resolveTarget({ view, rootNames: policy.rootNames }, workdir, "all");
    if (entry.kind === "directory") return { ok: true, path: path === "" ? root : `${root}/${path}` };
    return { ok: false, error: `workdir is not a directory: ${workdir}` };
  } catch (error) {
    if (!(error instanceof ViewFault)) throw error;
    if (error.code !== "outside") return { ok: false, error: error.message };
    const reason = { code: "outside-workspace" } as const;
    return { ok: false, error: `workdir outside workspace: ${workdir}`, reason };
  }
}

const processesReached = ({ most, configured }: NonNullable<ProcessResult["tooMany"]>) =>
  `the job started more processes than the ${most} it may have here (worker.limits.processes: ${configured})`;

/** The error first, then the program's output. */
export function toCommandOutcome(
  result: ProcessResult,
  opening: string,
  timeoutSeconds: number,
): CommandOutcome {
  const { output } = result;
  const said = output === "" ? "" : ` (output: ${output})`;
  if (result.tooMany !== undefined)
    return failedOutcome(`${opening}: ${processesReached(result.tooMany)}${said}`, output);
  switch (result.outcome) {
    case "exited":
      return result.exitCode === 0
        ? succeededOutcome(output)
        : failedOutcome(`${opening}: exit status ${result.exitCode}${said}`, output);
    case "signaled":
      return failedOutcome(`${opening}: signal: ${result.signal}${said}`, output);
    case "timed-out":
      return failedOutcome(`${opening}: timed out after ${timeoutSeconds} seconds${said}`, output, {
        code: "timeout",
        seconds: timeoutSeconds,
      });
    case "aborted":
      return failedOutcome(`${opening}: aborted${said}`, output);
    case "not-started":
      return failedOutcome(`${opening}: ${result.error?.message ?? "could not be started"}`, output);
  }
}

type CommandEvent = Extract<JobEvent, { type: "command_started" | "command_finished" }>;

export interface RunCommandsDeps
  extends Omit<RunProcessDeps, "processes">,
    Pick<WorkspaceDeps, "processes" | "planOptions" | "mask" | "clock"> {
  readonly stopOnError: boolean;
  readonly commandTimeoutSeconds: number;
  readonly gitTimeoutSeconds: number;
  readonly limits: LimitSettings;
  readonly startedBy: StartedBy;
  /** Receives the hosts to which a command had connections. */
  readonly onReached: (hosts: readonly ReachedHost[]) => void;
  readonly emit: (event: CommandEvent) => void;
  /** Works in the place of the one command. */
  readonly head?: HeadProcess | undefined;
  /** What earlier attempts of the same message made is no failure. */
  readonly earlier?: EarlierStates | undefined;
}
