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
import type { OutputStream } from "../../application/ports/jobs-transaction.ts";
import { createCharacterGate, createOutputCapture } from "../engine/output-capture.ts";
import type { RawConnection } from "../platform/connections.ts";
import { createFrameReader, createStreamReader } from "./container-frames.ts";
import { createExec } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/supervisor.pl" with { type: "text" };

/** A message of the supervisor; see `inside/supervisor.pl`. */
export interface SupervisorFrame {
  readonly type: string;
  readonly id: number;
  readonly payload: Buffer;
}

/** A process inside may have taken the supervisor over: a length is not trusted beyond what it ever sends. */
const LONGEST_FRAME = 1024 ** 2;

export function createSupervisorReader(onFrame: (frame: SupervisorFrame) => void, onBroken: () => void) {
  return createFrameReader(
    { headBytes: 9, limitBytes: LONGEST_FRAME, lengthOf: (head) => head.readUInt32BE(0) - 5 },
    (head, payload) =>
      onFrame({ type: String.fromCharCode(head[4] ?? 0), id: head.readUInt32BE(5), payload }),
    onBroken,
  );
}

export function encodeFrame(type: "S" | "K" | "P" | "Q", id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(9 + payload.length);
  frame.writeUInt32BE(5 + payload.length, 0);
  frame.write(type, 4, "latin1");
  frame.writeUInt32BE(id, 5);
  frame.set(payload, 9);
  return frame;
}

/** Texts and bytes, each after its length. */
function encodeList(items: readonly (string | Uint8Array)[]): Buffer {
  const parts = items.flatMap((item) => {
    const bytes = typeof item === "string" ? Buffer.from(item) : item;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

function decodeList(bytes: Buffer): readonly string[] {
  const items: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    items.push(bytes.toString("utf8", at + 4, end));
    at = end;
  }
  return items;
}

/** `kind` as in the program: 0 ended, 1 no such folder, 2 outside, 3 no such program, 4 no more processes, 5 lost. */
export interface EndedFrame {
  readonly kind: number;
  readonly status: number;
  readonly errno: number;
  readonly oomKills: number;
  readonly refusedForks: number;
  readonly left: readonly string[];
}

function decodeEnded(payload: Buffer): EndedFrame {
  const field = (index: number) => payload.readUInt32BE(index * 4);
  return {
    kind: field(0),
    status: field(1),
    errno: field(2),
    oomKills: field(3) | 0,
    refusedForks: field(4) | 0,
    left: decodeList(payload.subarray(20)),
  };
}

export interface EndedCommand {
  readonly outcome: ExecOutcome;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly background: readonly BackgroundProcess[];
  readonly limit?: ExceededLimit;
  readonly failure?: SandboxFailure;
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The meaning of the supervisor's last message about a command. */
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

/** Both streams of one command: live where asked for, and what is kept of each. */
export function createExecOutput(
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
