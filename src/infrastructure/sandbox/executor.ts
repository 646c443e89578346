import { readdirSync, readFileSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { createFolderView } from "../platform/folder-view.ts";
import { forwardSocket } from "../platform/forward-socket.ts";
import {
  closeOnExec,
  hideFromPeers,
  readDescriptor,
  waitForChild,
  withProcessLimit,
} from "../platform/process-calls.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { writeBytes } from "../platform/standard-streams.ts";
import {
  answerViewCall,
  createFrameReader,
  createProcessServer,
  encodeFrame,
  writeFrame,
} from "./executor-channel.ts";
import {
  type JobLimits,
  limitThisProcess,
  MANY_PROCESSES,
  PROXY_PORT,
  type ProcessAllowance,
  withLimits,
} from "./job-limits.ts";
import { NEARLY } from "./process-bound.ts";

/** Descriptors the program hands to the executor, beside standard input and output. */
const CALLS = 3;
const ANSWERS = 4;

/** The executor's settings, given at its start as JSON. */
export interface ExecutorSettings {
  readonly root: string;
  readonly path: string;
  /** The socket of the network's only way out, where there is a list of hosts. */
  readonly proxy: string | null;
  /** The socket behind which a head's key is; a port of the loopback leads to it. */
  readonly head: string | null;
  /** The socket at which callers from outside wait for ports of this loopback, where it is one of its own. */
  readonly callers: string | null;
  readonly limits: JobLimits;
  readonly allowance: ProcessAllowance;
}

/**
 * The program's hands inside a view: edits files and runs processes, and knows nothing else. Policy, journal and commit stay
 * outside, out of reach. `setUpBy`: the child that is still building the view; it reports its own failures.
 */
export async function serveView(
  { root, proxy, head, callers, limits, allowance }: ExecutorSettings,
  setUpBy: number | null,
): Promise<void> {
  // Loaded while the view is still being built.
  const ports = callers === null ? null : await import("./forward-port.ts");
  const setUp = setUpBy === null ? null : waitForChild(setUpBy);
  if (setUp !== null && !(setUp.ok && setUp.value === 0)) process.exit(1);
  limitThisProcess(limits, allowance);
  hideFromPeers();
  for (const descriptor of [0, 1, CALLS, ANSWERS]) closeOnExec(descriptor);
  const view = createFolderView(root);
  const answer = createFrameReader((frame) => writeFrame(ANSWERS, answerViewCall(view, frame)));
  void readDescriptor(CALLS, answer).finally(leaveExecutor);
  const runner = createProcessRunner();
  const { processes: most } = limits;
  const runProcess: typeof runner.runProcess = (request) => {
    const processes = most > 0 ? most + allowance.beside + Math.min(countOwnThreads(), allowance.spare) : 0;
    const argv = withLimits(request.argv, {
      memory: limits.memory,
      processes: processes < MANY_PROCESSES ? processes : 0,
    });
    return withProcessLimit(processes || null, () => runner.runProcess({ ...request, argv }));
  };
  const serve = createProcessServer({ ...runner, runProcess }, tellProgram);
  void readDescriptor(0, serve).finally(leaveExecutor);
  if (proxy !== null) forwardSocket({ hostname: LOOPBACK, port: PROXY_PORT }, () => proxy);
  if (callers !== null) ports?.waitForCallers(callers);
  // Without a loopback of its own the view takes any port that is free.
  const headPort = head === null ? null : forwardSocket({ hostname: LOOPBACK, port: 0 }, () => head).port;
  tellProgram(encodeFrame({ ready: true, headPort }));
  if (most > 0) watchProcesses(most, () => tellProgram(encodeFrame({ processes: true })));
}

const LOOPBACK = "127.0.0.1";
const LOOK_MS = 250;

/** Tells the program once that the job has as many processes as it may: it ends the job, and says why. */
function watchProcesses(most: number, onReached: () => void): void {
  const timer = setInterval(() => {
    // This process does not belong to the job.
    if (readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length - 1 < most * NEARLY) return;
    clearInterval(timer);
    onReached();
  }, LOOK_MS);
  timer.unref();
}

function countOwnThreads(): number {
  return Number(/^Threads:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 1);
}

/** The program has closed its end, so the view ends. If nothing else runs, the program is notified and need not wait for the mounts. */
function leaveExecutor(): void {
  if (isAlone()) tellProgram(encodeFrame({ alone: true }));
  process.exit(0);
}

/** Whether this is the only process of its namespace; a zombie counts too. */
function isAlone(): boolean {
  return attemptOr(
    false,
    () => process.pid === 1 && readdirSync("/proc").every((name) => name === "1" || !/^\d+$/.test(name)),
  );
}

function tellProgram(frame: Uint8Array): void {
  if (!writeBytes(1, frame)) process.exit(1);
}
