import type {
  BackgroundProcess,
  ContainerLimits,
  ExecRequest,
  ExecResult,
  SandboxFailure,
} from "../../application/ports/containers.ts";
import type { RawConnection } from "../platform/connections.ts";
import { createExec } from "./container-state.ts";
import { readEnding, readProcesses } from "./ended-command.ts";
import type { Engine } from "./docker-engine.ts";
import { createExecOutput } from "./exec-output.ts";
import { sandboxFailure } from "./failures.ts";
import { createStreamReader } from "./container-frames.ts";
import program from "./inside/supervisor.pl" with { type: "text" };
import {
  createSupervisorReader,
  decodeEnded,
  decodeList,
  encodeFrame,
  encodeList,
  type SupervisorFrame,
} from "./supervisor-wire.ts";

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
  readonly onFrame: (frame: SupervisorFrame) => void;
  readonly onLost: (failure: SandboxFailure) => void;
}

const DEFAULT_GRACE_MS = 1500;
/** The guard gives KILL five seconds. */
const STUCK_AFTER_MS = 6000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const UNLIMITED = String(2 ** 52);

export async function openSupervisor(parts: SupervisorDeps): Promise<Supervisor | SandboxFailure> {
  const { engine, container, limits, now, signal } = parts;
  const created = await createExec(engine, container, { argv: ["perl", "-e", program], stdin: true, signal });
  if (!created.ok) return created;
  const waiting = new Map<number, WaitingRun>();
  const state: { open: boolean; noise: string; nextId: number } = { open: true, noise: "", nextId: 1 };
  const hello = Promise.withResolvers<SandboxFailure | undefined>();
  const lose = (failure: SandboxFailure) => {
    if (!state.open) return;
    state.open = false;
    hello.resolve(failure);
    for (const each of [...waiting.values()]) each.onLost(failure);
    waiting.clear();
  };
  const own: { connection?: RawConnection } = {};
  const breakOff = () => {
    own.connection?.close();
    lose(sandboxFailure("disconnected", "what came from the container is not the supervisor's"));
  };
  const readFrames = createSupervisorReader((frame) => {
    if (frame.type === "h") return hello.resolve(undefined);
    try {
      waiting.get(frame.id)?.onFrame(frame);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      breakOff();
    }
  }, breakOff);
  const readStreams = createStreamReader((stream, bytes) => {
    if (stream === "stdout" && !/^OCI runtime exec failed/.test(bytes.toString("latin1", 0, 24)))
      readFrames(bytes);
    else state.noise = (state.noise + bytes.toString()).slice(-2000);
  });
  const connection = await engine.attach(
    created.value.Id,
    {
      onBytes: readStreams,
      onClose: (error) =>
        lose(
          sandboxFailure(
            "disconnected",
            state.noise.trim() || "the connection to the container broke off before an exit code came",
            error,
          ),
        ),
    },
    signal,
  );
  if ("ok" in connection) return connection;
  own.connection = connection;
  const onAbort = () => {
    connection.close();
    lose(sandboxFailure("aborted", "aborted"));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const failure = await hello.promise;
  signal.removeEventListener("abort", onAbort);
  if (failure) {
    connection.close();
    return failure;
  }
  const gone = () => sandboxFailure("disconnected", "the supervisor is gone");

  const ask = <T>(type: "P" | "Q", payload: string, read: (frame: SupervisorFrame) => T) => {
    if (!state.open) return Promise.resolve(gone());
    const { promise, resolve } = Promise.withResolvers<T | SandboxFailure>();
    const id = state.nextId++;
    const onFrame = (frame: SupervisorFrame) => {
      waiting.delete(id);
      resolve(read(frame));
    };
    waiting.set(id, { onFrame, onLost: resolve });
    connection.write(encodeFrame(type, id, Buffer.from(payload)));
    return promise;
  };

  return {
    run: (request) => {
      if (!state.open) return Promise.resolve(lostResult(gone(), 0, { stdout: "", stderr: "" }));
      const id = state.nextId++;
      return runSupervised({ id, request, limits, now, waiting, connection });
    },
    list: () => ask("P", "", ({ payload }) => readProcesses(decodeList(payload))),
    end: (pid) => ask("Q", String(pid), ({ payload }) => payload.toString() === "1"),
    isOpen: () => state.open,
    close() {
      connection.close();
      lose(sandboxFailure("aborted", "closed"));
    },
  };
}

interface SupervisedRun {
  readonly id: number;
  readonly request: SupervisedRequest;
  readonly limits: ContainerLimits;
  readonly now: () => number;
  readonly waiting: Map<number, WaitingRun>;
  readonly connection: RawConnection;
}

function runSupervised({
  id,
  request,
  limits,
  now,
  waiting,
  connection,
}: SupervisedRun): Promise<ExecResult> {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const output = createExecOutput(request);
  const started = now();
  const state: { ending?: "timed-out" | "aborted"; timer?: ReturnType<typeof setTimeout> } = {};
  const graceMs = request.graceMs ?? DEFAULT_GRACE_MS;
  const settle = (ended: Omit<ExecResult, "stdout" | "stderr" | "truncatedBytes" | "durationMs">) => {
    waiting.delete(id);
    clearTimeout(state.timer);
    request.signal?.removeEventListener("abort", onAbort);
    resolve({ ...ended, ...output.finish(), durationMs: Math.round(now() - started) });
  };
  const end = (why: "timed-out" | "aborted") => {
    if (state.ending) return;
    state.ending = why;
    connection.write(encodeFrame("K", id, Buffer.from(String(graceMs))));
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
          decodeEnded(payload),
          { cwd: request.cwd, program: request.argv[0] ?? "", stderr: kept.stderr },
          limits,
        );
        settle(state.ending && ended.outcome !== "not-started" ? { ...ended, outcome: state.ending } : ended);
      } else if (type === "o" || type === "e") output.add(stream, payload);
      else output.skip(stream, Number(payload.readBigUInt64BE(0)));
    },
    onLost: (failure) =>
      settle({
        outcome: state.ending ?? "disconnected",
        exitCode: null,
        signal: null,
        background: [],
        failure,
      }),
  });
  connection.write(encodeFrame("S", id, encodeStart(request)));
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

/** The result of a command of which nothing is known any more. */
export function lostResult(
  failure: SandboxFailure,
  durationMs: number,
  output: { readonly stdout: string; readonly stderr: string },
): ExecResult {
  return {
    outcome: failure.code === "disconnected" ? "disconnected" : "not-started",
    exitCode: null,
    signal: null,
    ...output,
    truncatedBytes: 0,
    durationMs,
    background: [],
    failure,
  };
}
