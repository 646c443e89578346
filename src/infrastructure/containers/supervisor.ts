import { constants } from "node:os";
import type {
  BackgroundProcess,
  ContainerLimits,
  ExceededLimit,
  ExecOutcome,
  ExecRequest,
  ExecResult,
  SandboxFailure,
} from "../../application/ports/containers.ts";
import type { OutputStream } from "../../application/ports/platform-processes.ts";
import { createCharacterGate, createOutputCapture } from "../platform/output-capture.ts";
import { decodeList, encodeList, type Frame } from "./container-frames.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/supervisor.pl" with { type: "text" };
import { type InsideProgram, openInsideProgram } from "./inside-program.ts";

type Ending = Omit<ExecResult, "stdout" | "stderr" | "truncatedBytes" | "durationMs">;

const KINDS = ["ended", "no-cwd", "outside", "no-program", "no-fork", "lost"] as const;

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Reads the supervisor's last message about a command, and what that left running. Throws a `RangeError` for anything else. */
export function readEnding(
  payload: Buffer,
  { cwd, program, stderr }: { readonly cwd: string; readonly program: string; readonly stderr: string },
  limits: ContainerLimits,
): Ending {
  const [kind, status, errno, oomKills, refusedForks] = [0, 4, 8, 12, 16].map((at) =>
    payload.readInt32BE(at),
  ) as [number, number, number, number, number];
  const refuse = (failure: SandboxFailure) => failedEnding(failure, "not-started");
  switch (KINDS[kind]) {
    case "no-cwd":
      return refuse(sandboxFailure("cwd-missing", `the folder does not exist or may not be entered: ${cwd}`));
    case "outside":
      return refuse(sandboxFailure("outside", `the working directory is outside the workspace: ${cwd}`));
    case "no-program":
      return refuse(sandboxFailure("program-missing", `cannot run ${program} (errno ${errno})`));
    case "no-fork":
      return {
        ...refuse(sandboxFailure("no-resources", `the process limit of ${limits.pids} is used up`)),
        limit: { kind: "processes", limit: limits.pids },
      };
    case "lost":
      return failedEnding(
        sandboxFailure("disconnected", "a process in the container killed the one that watched the command"),
      );
    case "ended":
      break;
    case undefined:
      throw new RangeError(`no such ending: ${kind}`);
  }
  const signal = status & 127;
  const exitCode = signal === 0 ? status >> 8 : 128 + signal;
  const limit = exceededLimit({ oomKills, refusedForks }, exitCode, stderr, limits);
  return {
    outcome: signal === 0 ? "exited" : "signaled",
    exitCode,
    signal: signal === 0 ? null : (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`),
    background: readProcesses(payload.subarray(20)),
    ...(limit && { limit }),
  };
}

/** Nothing more is known of the command. */
function failedEnding(failure: SandboxFailure, outcome: ExecOutcome = lostOutcome(failure)): Ending {
  return { outcome, exitCode: null, signal: null, background: [], failure };
}

function lostOutcome({ code }: SandboxFailure): ExecOutcome {
  return code === "disconnected" || code === "aborted" ? code : "not-started";
}

/** The result of a command that did not get as far as a process. */
export function lostResult(failure: SandboxFailure, durationMs: number): ExecResult {
  return { ...failedEnding(failure), stdout: "", stderr: "", truncatedBytes: 0, durationMs };
}

function readProcesses(payload: Buffer): readonly BackgroundProcess[] {
  const list = decodeList(payload).map(String);
  const processes: BackgroundProcess[] = [];
  for (let i = 0; i + 1 < list.length; i += 2)
    processes.push({ pid: Number(list[i]), command: list[i + 1] ?? "" });
  return processes;
}

const FILE_SIZE_SIGNAL = 128 + constants.signals.SIGXFSZ;

function exceededLimit(
  { oomKills, refusedForks }: { readonly oomKills: number; readonly refusedForks: number },
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

/** Both streams of one command: live where asked for, and what is kept of each. */
function createExecOutput(
  request: Pick<ExecRequest, "outputLimitBytes" | "cutNote" | "onOutput" | "onBytes">,
) {
  const streamOf = (name: OutputStream) => {
    const kept = createOutputCapture(request.outputLimitBytes, request.cutNote);
    const gate = createCharacterGate((bytes) =>
      request.onOutput?.(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()),
    );
    return { kept, gate };
  };
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  return {
    add(name: OutputStream, bytes: Uint8Array): void {
      streams[name].kept.add(bytes);
      request.onBytes?.(name, bytes);
      if (request.onOutput) streams[name].gate.add(bytes);
    },
    skip(name: OutputStream, bytes: number): void {
      streams[name].kept.skip(bytes);
    },
    finish() {
      streams.stdout.gate.end();
      streams.stderr.gate.end();
      const [stdout, stderr] = [streams.stdout.kept.finish(), streams.stderr.kept.finish()];
      return {
        stdout: stdout.text,
        stderr: stderr.text,
        truncatedBytes: stdout.cutBytes + stderr.cutBytes,
      };
    },
  };
}

/** The resident supervisor of one container, over one connection. */
export interface Supervisor {
  run(request: SupervisedRequest): Promise<ExecResult>;
  list(): Promise<readonly BackgroundProcess[] | SandboxFailure>;
  end(pid: number): Promise<boolean | SandboxFailure>;
  readonly isOpen: () => boolean;
  close(): void;
}

export interface SupervisedRequest extends ExecRequest {
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  readonly roots: readonly string[];
  /** When even KILL did not end the tree. */
  readonly onStuck: () => void;
}

export interface SupervisorDeps {
  readonly engine: Engine;
  readonly container: string;
  readonly limits: ContainerLimits;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

interface WaitingRun {
  readonly onFrame: (frame: Frame) => void;
  readonly onLost: (failure: SandboxFailure) => void;
}

const DEFAULT_GRACE_MS = 1500;
/** The guard gives KILL five seconds. */
const STUCK_AFTER_MS = 6000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const UNLIMITED = String(2 ** 52);
const LONGEST_FRAME = 1024 ** 2;

export async function openSupervisor(deps: SupervisorDeps): Promise<Supervisor | SandboxFailure> {
  const { engine, container, limits, now, signal } = deps;
  const waiting = new Map<number, WaitingRun>();
  const state = { open: true, nextId: 1 };
  const opened = await openInsideProgram({
    engine,
    container,
    program,
    longestFrame: LONGEST_FRAME,
    onFrame: (frame) => waiting.get(frame.id)?.onFrame(frame),
    onEnd(failure) {
      state.open = false;
      for (const each of [...waiting.values()]) each.onLost(failure);
      waiting.clear();
    },
    signal,
  });
  if ("ok" in opened) return opened;
  const gone = () => sandboxFailure("disconnected", "the supervisor is gone");

  const ask = <T>(type: "P" | "Q", payload: string, read: (payload: Buffer) => T) => {
    if (!state.open) return Promise.resolve(gone());
    const { promise, resolve } = Promise.withResolvers<T | SandboxFailure>();
    const id = state.nextId++;
    const onFrame = (frame: Frame) => {
      const answer = read(frame.payload);
      waiting.delete(id);
      resolve(answer);
    };
    waiting.set(id, { onFrame, onLost: resolve });
    opened.send(type, id, Buffer.from(payload));
    return promise;
  };

  return {
    run: (request) => {
      if (!state.open) return Promise.resolve(lostResult(gone(), 0));
      const id = state.nextId++;
      return runSupervised({ id, request, limits, now, waiting, send: opened.send });
    },
    list: () => ask("P", "", readProcesses),
    end: (pid) => ask("Q", String(pid), (payload) => payload.toString() === "1"),
    isOpen: () => state.open,
    close: opened.close,
  };
}

interface SupervisedRun {
  readonly id: number;
  readonly request: SupervisedRequest;
  readonly limits: ContainerLimits;
  readonly now: () => number;
  readonly waiting: Map<number, WaitingRun>;
  readonly send: InsideProgram["send"];
}

function runSupervised({ id, request, limits, now, waiting, send }: SupervisedRun): Promise<ExecResult> {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const output = createExecOutput(request);
  const started = now();
  const state: { ending?: "timed-out" | "aborted"; timer?: ReturnType<typeof setTimeout> } = {};
  const graceMs = request.graceMs ?? DEFAULT_GRACE_MS;
  const settle = (ended: Ending) => {
    waiting.delete(id);
    clearTimeout(state.timer);
    request.signal?.removeEventListener("abort", onAbort);
    resolve({ ...ended, ...output.finish(), durationMs: Math.round(now() - started) });
  };
  const end = (why: "timed-out" | "aborted") => {
    if (state.ending) return;
    state.ending = why;
    send("K", id, Buffer.from(String(graceMs)));
    clearTimeout(state.timer);
    state.timer = setTimeout(() => {
      settle({ outcome: why, exitCode: null, signal: null, background: [] });
      request.onStuck();
    }, graceMs + STUCK_AFTER_MS);
  };
  const onAbort = () => end("aborted");
  waiting.set(id, {
    onFrame({ type, payload }) {
      const stream = type === "o" || type === "O" ? "stdout" : "stderr";
      if (type === "x") {
        const kept = output.finish();
        const ended = readEnding(
          payload,
          { cwd: request.cwd, program: request.argv[0] ?? "", stderr: kept.stderr },
          limits,
        );
        settle(state.ending && ended.outcome !== "not-started" ? { ...ended, outcome: state.ending } : ended);
      } else if (type === "o" || type === "e") output.add(stream, payload);
      else output.skip(stream, Number(payload.readBigUInt64BE(0)));
    },
    onLost: (failure) => settle(failedEnding(failure, state.ending ?? "disconnected")),
  });
  send("S", id, encodeStart(request));
  if (request.timeoutMs <= LONGEST_TIMER_MS)
    state.timer = setTimeout(() => end("timed-out"), request.timeoutMs);
  request.signal?.addEventListener("abort", onAbort, { once: true });
  if (request.signal?.aborted) onAbort();
  return promise;
}

function encodeStart(request: SupervisedRequest): Buffer {
  const live = request.onOutput !== undefined || request.onBytes !== undefined;
  const head = Math.ceil(request.outputLimitBytes / 2);
  const tail = Math.max(0, Math.floor(request.outputLimitBytes) - head);
  const env = Object.entries(request.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const hasInput = request.stdin === undefined ? "" : "1";
  const roots = request.roots.join("\0");
  return encodeList([
    live ? UNLIMITED : String(head),
    live ? "0" : String(tail),
    hasInput,
    request.stdin ?? "",
    encodeList([request.cwd, roots, hasInput, String(env.length), ...env, ...request.argv]),
  ]);
}
