import { constants } from "node:os";
import type {
  BackgroundProcess,
  ContainerLimits,
  ExceededLimit,
  ExecOutcome,
  SandboxFailure,
} from "../../application/ports/containers.ts";
import { sandboxFailure } from "./failures.ts";
import type { EndedFrame } from "./supervisor-wire.ts";

export interface EndedCommand {
  readonly outcome: ExecOutcome;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly background: readonly BackgroundProcess[];
  readonly limit?: ExceededLimit;
  readonly failure?: SandboxFailure;
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** What the supervisor's last word on a command means. */
export function readEnding(
  ended: EndedFrame,
  { cwd, program, stderr }: { readonly cwd: string; readonly program: string; readonly stderr: string },
  limits: ContainerLimits,
): EndedCommand {
  const none = { exitCode: null, signal: null, background: [] };
  const refuse = (failure: SandboxFailure): EndedCommand => ({ ...none, outcome: "not-started", failure });
  switch (ended.kind) {
    case 1:
      return refuse(sandboxFailure("cwd-missing", `no such folder, or not yours to enter: ${cwd}`));
    case 2:
      return refuse(sandboxFailure("outside", `the working directory is outside the workspace: ${cwd}`));
    case 3:
      return refuse(sandboxFailure("program-missing", `cannot run ${program} (errno ${ended.errno})`));
    case 4:
      return {
        ...refuse(sandboxFailure("no-resources", `the process limit of ${limits.pids} is used up`)),
        limit: { kind: "processes", limit: limits.pids },
      };
    case 5:
      return {
        ...none,
        outcome: "disconnected",
        failure: sandboxFailure(
          "disconnected",
          "somebody inside killed the process that watched the command",
        ),
      };
  }
  const signal = ended.status & 127;
  const exitCode = signal === 0 ? ended.status >> 8 : 128 + signal;
  const limit = exceededLimit(ended, exitCode, stderr, limits);
  return {
    outcome: signal === 0 ? "exited" : "signaled",
    exitCode,
    signal: signal === 0 ? null : (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`),
    background: readProcesses(ended.left),
    ...(limit && { limit }),
  };
}

export function readProcesses(list: readonly string[]): readonly BackgroundProcess[] {
  const processes: BackgroundProcess[] = [];
  for (let i = 0; i + 1 < list.length; i += 2)
    processes.push({ pid: Number(list[i]), command: list[i + 1] ?? "" });
  return processes;
}

const FILE_SIZE_SIGNAL = 128 + constants.signals.SIGXFSZ;

function exceededLimit(
  { oomKills, refusedForks }: EndedFrame,
  exitCode: number,
  stderr: string,
  { memoryBytes, pids, diskBytes }: ContainerLimits,
): ExceededLimit | undefined {
  if (exitCode === 0) return undefined;
  if (oomKills > 0) return { kind: "memory", limitBytes: memoryBytes };
  if (refusedForks > 0) return { kind: "processes", limit: pids };
  if (exitCode === FILE_SIZE_SIGNAL || /No space left on device|Disk quota exceeded/.test(stderr))
    return { kind: "disk", limitBytes: diskBytes };
  return undefined;
}
