import { closeSync, readSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { callLinux, DONE, failure, type LibcResult, libc, linuxLibc, UNSUPPORTED } from "./libc.ts";

/** A child process; `node:child_process` would cost ten milliseconds at its first use. */
export interface SpawnedChild {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  /** The stream that the runtime reads where "pipe" was requested. */
  readonly stdout: ReadableStream<Uint8Array> | undefined;
  readonly stderr: ReadableStream<Uint8Array> | undefined;
  /** Where "pipe" was requested for 0. */
  readonly stdin: ChildInput | undefined;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** The input of a child. Nothing throws once the child has ended. */
type ChildInput = ReturnType<typeof toChildInput>;

interface ChildExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface SpawnRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment; its PATH finds the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of this process for 0, 1, 2, 3, …; the child gets its own copies. */
  readonly stdio: readonly (number | "ignore" | "pipe")[];
  readonly detached: boolean;
}

/** Starts a process. Throws the system's error, with its `code`, when it cannot. */
export function spawnChild({ argv, cwd, env, stdio, detached }: SpawnRequest): SpawnedChild {
  const exit = Promise.withResolvers<ChildExit>();
  const child = Bun.spawn({
    cmd: [...argv],
    cwd,
    env: { ...env },
    stdio: [...stdio] as ["ignore", "pipe", "pipe"],
    detached,
    onExit: (_, exitCode, signalCode) =>
      exit.resolve({ exitCode: signalCode === null ? exitCode : null, signal: signalName(signalCode) }),
  });
  return {
    pid: child.pid,
    exited: exit.promise,
    stdout: child.stdout instanceof ReadableStream ? child.stdout : undefined,
    stderr: child.stderr instanceof ReadableStream ? child.stderr : undefined,
    stdin: stdio[0] === "pipe" ? toChildInput(child.stdin as unknown as Bun.FileSink) : undefined,
    kill: (signal) => child.kill(signal),
  };
}

function toChildInput(sink: Bun.FileSink) {
  const quietly = (use: () => unknown) => {
    try {
      // A child that has ended reads no more, and that is its own affair.
      Promise.resolve(use()).catch(() => {});
    } catch {
      // The same, reported immediately.
    }
  };
  return {
    write(text: string): void {
      quietly(() => sink.write(text));
      quietly(() => sink.flush());
    },
    end: () => quietly(() => sink.end()),
  };
}

/** The runtime gives a number; people and callers read a name. */
function signalName(code: number | string | null): string | null {
  if (code === null || typeof code === "string") return code;
  const { signals } = process.getBuiltinModule("node:os").constants;
  return Object.entries(signals).find(([, number]) => number === code)?.[0] ?? `SIG${code}`;
}

const O_CLOEXEC = 0o2000000;

/** A pipe whose write end is passed to a child. Close `writeFd` here once the child has it; otherwise the pipe never ends. */
export interface ReadablePipe {
  readonly writeFd: number;
  /** Called once. Resolves at the end, or soon after `stop`; an error of `onBytes` ends the reading. */
  readonly read: (onBytes: (bytes: Uint8Array) => void) => Promise<void>;
  /** Called once, before or while reading or draining. */
  readonly stop: () => void;
  /** Called once, while reading: the rest is read and forgotten, without keeping this program from its end. Resolves as `read`. */
  readonly drain: () => Promise<void>;
}

const DRAIN_EVERY_MS = 20;

/** A real pipe: the runtime's child streams are sockets, which a script cannot open again by `/dev/stdout`. */
export function openPipe(): LibcResult<ReadablePipe> {
  const made = rawPipe();
  if (!made.ok) return made;
  const { readEnd: readFd, writeEnd: writeFd } = made.value;
  const closed = Promise.withResolvers<void>();
  const close = () => {
    closeSync(readFd);
    state.isOpen = false;
    state.stop = () => {};
    closed.resolve();
  };
  const state = { stop: close, isOpen: true, isDrained: false };
  const read = async (onBytes: (bytes: Uint8Array) => void) => {
    try {
      await readDescriptor(readFd, onBytes, (stop) => Object.assign(state, { stop }));
    } catch {
      // A broken read end is the end of the stream.
    } finally {
      if (!state.isDrained) close();
    }
  };
  const drain = () => {
    state.isDrained = state.isOpen && setNonblocking(readFd).ok;
    if (!state.isDrained) return closed.promise;
    state.stop();
    // All that a pipe holds.
    const piece = new Uint8Array(65_536);
    const timer = setInterval(() => {
      if (attemptOr(piece.length, () => readSync(readFd, piece)) === 0) state.stop();
    }, DRAIN_EVERY_MS);
    timer.unref();
    state.stop = () => {
      clearInterval(timer);
      close();
    };
    return closed.promise;
  };
  return { ok: true, value: { writeFd, read, drain, stop: () => state.stop() } };
}

/** Reads a descriptor to its end without a Node stream, whose set-up costs twenty milliseconds. `onStop` gets what stops it. */
export async function readDescriptor(
  descriptor: number,
  onBytes: (bytes: Uint8Array) => void,
  onStop?: (stop: () => void) => void,
): Promise<void> {
  const reader = Bun.file(descriptor).stream().getReader();
  onStop?.(() => void reader.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes(value);
  }
}

const PR_SET_CHILD_SUBREAPER = 36;
const RLIMIT_RTTIME = 15;
const WNOHANG = 1;

/** Linux: orphans among our descendants become our children instead of init's. Idempotent. */
export function setChildSubreaper(): LibcResult {
  return callLinux(({ c }) => c.prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n));
}

/** Buries one dead child; `value` is false while it still lives. Never for a child that the runtime itself waits for. */
export function reapChild(pid: number): LibcResult<boolean> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const waited = lib.c.waitpid(pid, null, WNOHANG);
  return waited < 0 ? failure(lib) : { ok: true, value: waited === pid };
}

/** Waits until a child has ended, and reaps it. Returns the system's status, 0 for success. Blocks. */
export function waitForChild(pid: number): LibcResult<number> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const status = new Int32Array(1);
  for (;;) {
    if (lib.c.waitpid(pid, status, 0) === pid) return { ok: true, value: status[0] as number };
    const failed = failure(lib);
    if (failed.reason !== "failed" || failed.code !== "EINTR") return failed;
  }
}

/**
 * Linux: every process that `start` spawns synchronously carries `tag` as its soft limit of real-time CPU
 * microseconds. The limit never bites (a huge number, and only for real-time scheduling), but it is
 * inherited through fork, exec, setsid and an emptied environment, and anyone may read it in
 * `/proc/PID/limits`: a mark that a process cannot lose by accident.
 */
export function withInheritedTag<T>(tag: bigint, start: () => T): T {
  return withSoftLimit(RLIMIT_RTTIME, () => tag, start);
}

/** As it is where the machine's hard limit leaves no room. */
function withSoftLimit<T>(resource: number, choose: (soft: bigint) => bigint, start: () => T): T {
  const lib = linuxLibc();
  const before = new BigUint64Array(2);
  if (lib?.c.getrlimit(resource, before) !== 0) return start();
  const [soft = NO_LIMIT, hard = NO_LIMIT] = before;
  if (lib.c.setrlimit(resource, new BigUint64Array([choose(soft), hard])) !== 0) return start();
  try {
    return start();
  } finally {
    lib.c.setrlimit(resource, before);
  }
}

const PR_SET_DUMPABLE = 4;
const F_SETFD = 2;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;
const FD_CLOEXEC = 1;
const RLIMITS = { fileSize: 1, processes: 6, openFiles: 7 } as const;

/** Linux: no process of the same user may read this process's memory or reach its descriptors through /proc. */
export function hideFromPeers(): LibcResult {
  return callLinux(({ c }) => c.prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n));
}

const [PR_SET_PDEATHSIG, SIGKILL] = [1, 9n];

/** Linux: this process is killed when the one that started it ends, also while it is stopped. */
export function endWithParent(): LibcResult {
  return callLinux(({ c }) => c.prctl(PR_SET_PDEATHSIG, SIGKILL, 0n, 0n, 0n));
}

/** A descriptor that was inherited is not passed on to what this process starts. */
export function closeOnExec(descriptor: number): LibcResult {
  return callLinux(({ c }) => c.fcntl(descriptor, F_SETFD, FD_CLOEXEC));
}

/** Linux: this process and its children get no more bytes of a file, open files, or processes of the user namespace (not root's). */
export function limitResource(resource: keyof typeof RLIMITS, most: number): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  const limits = new BigUint64Array(2);
  if (lib.c.getrlimit(RLIMITS[resource], limits) !== 0) return failure(lib);
  for (const i of [0, 1]) if ((limits[i] ?? 0n) > BigInt(most)) limits[i] = BigInt(most);
  return lib.c.setrlimit(RLIMITS[resource], limits) === 0 ? DONE : failure(lib);
}

/** Linux: the processes that this one's user may have, threads included, as far as its own limit says. */
export function readProcessLimit(): number {
  const lib = linuxLibc();
  const limits = new BigUint64Array(2);
  if (lib?.c.getrlimit(RLIMITS.processes, limits) !== 0) return Number.POSITIVE_INFINITY;
  const [soft = NO_LIMIT] = limits;
  return soft === NO_LIMIT ? Number.POSITIVE_INFINITY : Number(soft);
}

const NO_LIMIT = 2n ** 64n - 1n;

/** Linux: every process that `start` spawns synchronously may have this many processes of its user; null: as many as this one. */
export function withProcessLimit<T>(most: number | null, start: () => T): T {
  if (most === null) return start();
  return withSoftLimit(RLIMITS.processes, (soft) => (soft < BigInt(most) ? soft : BigInt(most)), start);
}

/** Both ends of a plain blocking pipe, closed on exec. */
export function rawPipe(): LibcResult<{ readonly readEnd: number; readonly writeEnd: number }> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const ends = new Int32Array(2);
  const status = lib.platform === "linux" ? lib.c.pipe2(ends, O_CLOEXEC) : lib.c.pipe(ends);
  const [readEnd = -1, writeEnd = -1] = ends;
  return status === 0 ? { ok: true, value: { readEnd, writeEnd } } : failure(lib);
}

/** Linux: reading and writing here fail with EAGAIN instead of waiting. */
export const setNonblocking = (fd: number): LibcResult =>
  callLinux(({ c }) => c.fcntl(fd, F_SETFL, O_NONBLOCK));

const POLL_EVENTS = { reading: 1, writing: 4 } as const;

/** Linux: blocks until a descriptor is ready or broken; false where it is neither in this time. */
export function waitUntilReady(fd: number, use: keyof typeof POLL_EVENTS, ms: number): boolean {
  const ends = performance.now() + ms;
  for (let left = ms; left > 0; left = Math.ceil(ends - performance.now())) {
    const found = linuxLibc()?.c.poll(new Int32Array([fd, POLL_EVENTS[use]]), 1n, left) ?? 1;
    // Below zero: a signal interrupted the call.
    if (found >= 0) return found > 0;
  }
  return false;
}
