import type { OutputStream, ProcessRequest, ProcessResult } from "../../application/ports/process.ts";
import { keepDraining } from "./background-drains.ts";
import { newRunTag } from "./job-tag.ts";
import { DEFAULT_GRACE_MS, killProcesses } from "./kill-processes.ts";
import { createOutputCapture } from "./output-capture.ts";
import { readLinuxStartTime } from "./process-table.ts";
import { leaderEnded, leaderStarted } from "./reap-orphans.ts";
import { untaggedRunStarted } from "./select-processes.ts";
import { type StartedChild, startChild, startFailure } from "./start-child.ts";
import { createCharacterGate } from "./utf8-boundary.ts";

const DRAIN_MS = 250;
const LAST_WAIT_FOR_EXIT_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Exit = Pick<ProcessResult, "exitCode" | "signal">;
type StopCause = "timed-out" | "aborted";

const NO_EXIT: Exit = { exitCode: null, signal: null };

/** Steps: start; wait for exit, timeout or abort; on the latter two end the tree; drain; report. */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const began = performance.now();
  const output = createProcessOutput(request);
  const report = (rest: Exit & Pick<ProcessResult, "outcome" | "error">): ProcessResult => ({
    ...rest,
    ...output.finish(),
    durationMs: performance.now() - began,
  });
  if (request.signal?.aborted) return report({ outcome: "aborted", ...NO_EXIT });

  const runTag = newRunTag(request.jobMarker);
  const started = startProcess(request, runTag);
  if ("failed" in started) {
    return report({ outcome: "not-started", ...NO_EXIT, error: startFailure(request, started.failed) });
  }
  const { pid, exit, streams } = started;
  const reading = Promise.all([
    streams.stdout.read((bytes) => output.add("stdout", bytes)),
    streams.stderr.read((bytes) => output.add("stderr", bytes)),
  ]);

  const first = await Promise.race([exit, stopRequest(request, exit)]);
  if (typeof first === "string") {
    const leader = { pid, startedAt: started.startedAt, runTag };
    await killProcesses({ jobMarker: request.jobMarker, leader }, request.graceMs ?? DEFAULT_GRACE_MS);
  }
  const ended = typeof first === "string" ? await withTimeout(exit, LAST_WAIT_FOR_EXIT_MS) : first;
  if ((await withTimeout(reading, DRAIN_MS)) === undefined) {
    keepDraining(request.jobMarker, reading, () => {
      streams.stdout.stop();
      streams.stderr.stop();
    });
  }
  if (typeof first === "string") return report({ outcome: first, ...(ended ?? NO_EXIT) });
  return report({ outcome: first.signal === null ? "exited" : "signaled", ...first });
}

type StartedProcess = Pick<StartedChild, "streams"> & {
  readonly pid: number;
  readonly startedAt: number;
  readonly exit: Promise<Exit>;
};

function startProcess(
  request: ProcessRequest,
  runTag: bigint,
): StartedProcess | { readonly failed: unknown } {
  try {
    const { child, tagged, streams } = startChild(request, runTag);
    const { pid } = child;
    // At once, while the leader cannot have been buried: its start time is what tells it from a recycled pid.
    const startedAt = readLinuxStartTime(pid) ?? 0;
    leaderStarted(pid);
    if (!tagged) untaggedRunStarted(request.jobMarker, startedAt);
    const exit = child.exited.then((ended) => {
      leaderEnded(pid);
      return ended;
    });
    return { pid, startedAt, exit, streams };
  } catch (failed) {
    return { failed };
  }
}

/** Resolves when the timeout passes or the signal aborts; forgets both once the process has exited. */
function stopRequest(request: ProcessRequest, exit: Promise<Exit>): Promise<StopCause> {
  return new Promise((resolve) => {
    const abort = () => resolve("aborted");
    const timer =
      request.timeoutMs <= LONGEST_TIMER_MS
        ? setTimeout(() => resolve("timed-out"), Math.max(0, request.timeoutMs))
        : undefined;
    request.signal?.addEventListener("abort", abort, { once: true });
    if (request.signal?.aborted) abort();
    void exit.then(() => {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", abort);
    });
  });
}

/** Undefined after `ms`; one more turn of the event loop lets in what had already arrived. */
function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(undefined))), ms);
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

type CapturedOutput = Pick<ProcessResult, "output" | "stdout" | "stderr" | "truncatedBytes">;

/** Both streams of one process: each for itself, both together in the order of arrival, and live. */
function createProcessOutput(request: ProcessRequest) {
  const capture = () => createOutputCapture(request.outputLimitBytes, request.cutNote);
  const both = capture();
  const open = { value: true };
  const streamOf = (name: OutputStream) => {
    const own = capture();
    const gate = createCharacterGate((bytes) => {
      own.add(bytes);
      both.add(bytes);
      request.onOutput?.(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    });
    return { own, gate };
  };
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  return {
    /** After `finish` bytes are read and forgotten: a background child must be able to go on writing. */
    add(name: OutputStream, bytes: Uint8Array): void {
      if (open.value) streams[name].gate.add(bytes);
    },
    finish(): CapturedOutput {
      streams.stdout.gate.end();
      streams.stderr.gate.end();
      open.value = false;
      const { text, cutBytes } = both.finish();
      return {
        output: text,
        stdout: streams.stdout.own.finish().text,
        stderr: streams.stderr.own.finish().text,
        truncatedBytes: cutBytes,
      };
    },
  };
}
