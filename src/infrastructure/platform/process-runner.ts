import { closeSync, statSync } from "node:fs";
import {
  JOB_VARIABLE,
  type OutputStream,
  type ProcessRequest,
  type ProcessResult,
  type ProcessRunner,
  type StartFailure,
  type StartFailureReason,
} from "../../application/ports/platform-processes.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { countOutOfMemory } from "./control-groups.ts";
import { createCharacterGate, createOutputCapture } from "./output-capture.ts";
import { openPipe, reapChild, setChildSubreaper, spawnChild, withInheritedTag } from "./process-calls.ts";
import {
  maySignal,
  type ProcessEntry,
  readLinuxProcesses,
  readLinuxStartTime,
  readProcessTable,
  signalProcess,
} from "./process-table.ts";

/** Streams that a background child holds open: read and discarded, so that it neither blocks nor dies, until it or this program ends. */
const drains = new Map<string, Set<() => void>>();

function keepDraining(jobMarker: string, stream: StartedChild["streams"]["stdout"]): void {
  const ofJob = drains.get(jobMarker) ?? new Set();
  drains.set(jobMarker, ofJob.add(stream.stop));
  void stream.drain().then(() => {
    ofJob.delete(stream.stop);
    if (ofJob.size === 0 && drains.get(jobMarker) === ofJob) drains.delete(jobMarker);
  });
}

function stopDraining(jobMarker: string): void {
  for (const stop of drains.get(jobMarker) ?? []) stop();
}

/** Room for as many jobs, and as many first processes, as one program runs at once. */
const REGISTER_SLOTS = 1024;

/** The jobs of this process and their first processes, shared by its threads: another thread's children look like its own. */
export interface RunRegister {
  /** Hashes of jobs. */
  readonly jobs: Int32Array;
  /** Process numbers. The runtime waits for these itself; reaping one here would lose its exit code. */
  readonly leaders: Int32Array;
}

function createRunRegister(): RunRegister {
  const slots = () => new Int32Array(new SharedArrayBuffer(REGISTER_SLOTS * Int32Array.BYTES_PER_ELEMENT));
  return { jobs: slots(), leaders: slots() };
}

function enter(slots: Int32Array, value: number): void {
  if (slots.includes(value)) return;
  for (let i = 0; i < slots.length; i += 1) if (Atomics.compareExchange(slots, i, 0, value) === 0) return;
}

function leave(slots: Int32Array, value: number): void {
  for (let i = 0; i < slots.length; i += 1) Atomics.compareExchange(slots, i, value, 0);
}

/** As sub-reaper we inherit a job's orphans; the runtime does not know them, so they are reaped here. */
function reapOrphans({ leaders }: RunRegister, ofOneJob: readonly ProcessEntry[]): void {
  for (const entry of ofOneJob) {
    if (entry.zombie && entry.parentPid === process.pid && !leaders.includes(entry.pid)) reapChild(entry.pid);
  }
}

/** The number that a job's processes inherit as a resource limit (`withInheritedTag`): 0x5c, 32 bits of the job, 22 of the run. */
const PREFIX = 0x5cn;
const PREFIX_SHIFT = 54n;
const JOB_SHIFT = 22n;
const RUN_MASK = 2 ** 22 - 1;

function jobTag(jobMarker: string): bigint {
  return (PREFIX << PREFIX_SHIFT) | (BigInt(fnv1a(jobMarker)) << JOB_SHIFT);
}

export function newRunTag(jobMarker: string): bigint {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return jobTag(jobMarker) | BigInt(random & RUN_MASK);
}

export function isTag(value: bigint): boolean {
  return value >> PREFIX_SHIFT === PREFIX;
}

/** The job in a tag, as the register has it. */
function jobInTag(tag: bigint): number {
  return Number((tag >> JOB_SHIFT) & 0xffffffffn) | 0;
}

function jobHash(jobMarker: string): number {
  return fnv1a(jobMarker) | 0;
}

export function isOfJob(value: bigint, jobMarker: string): boolean {
  return value >> JOB_SHIFT === jobTag(jobMarker) >> JOB_SHIFT;
}

/** Implemented here, because loading `node:crypto` alone would cost 8 ms at the first command. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The first process of a run. On Linux it leads its own session. */
export interface Leader {
  readonly pid: number;
  readonly startedAt: number;
  readonly runTag: bigint;
}

/** A whole job, or the single run of one command in it. */
export interface ProcessScope {
  readonly jobMarker: string;
  readonly leader?: Leader;
  /** Its processes are in the group of the program that started them, which may be a user's script: none is ended as a group. */
  readonly sharesGroup?: true;
  /** Default: this thread's own. */
  readonly family?: ProcessFamily;
}

/** How a thread knows its own processes among all. */
export interface ProcessFamily {
  readonly register: RunRegister;
  /** The thread has confined itself to its own domain: it can signal only the processes that it started, directly or not. */
  readonly signalsOwnOnly: boolean;
}

const OWN_FAMILY: ProcessFamily = { register: createRunRegister(), signalsOwnOnly: false };

/** The facts about other threads' processes that a thread with processes of its own needs. */
export function lendRegister(): RunRegister {
  return OWN_FAMILY.register;
}

/** Registers a child that belongs to no job, so that none takes it for an orphan. Returns a function that forgets it. */
export function registerOwnChild(pid: number): () => void {
  enter(OWN_FAMILY.register.leaders, pid);
  return () => leave(OWN_FAMILY.register.leaders, pid);
}

/** When the first process of a job was started, for each job of this thread that has any. */
const startedSince = new Map<string, number>();

/**
 * Steps: processes with the job's mark (inherited tag, environment variable, the leader's session), unclaimed orphans that
 * this process inherited as sub-reaper since the job began, then all descendants of those. Never this process itself. Zombies
 * are included. Parents precede their children: a shell that is signaled first does not report its child as "Terminated".
 */
export function selectProcesses(
  table: readonly ProcessEntry[],
  scope: ProcessScope,
  known: ReadonlySet<string> = new Set(),
): readonly ProcessEntry[] {
  const childrenOf = Map.groupBy(table, (entry) => entry.parentPid);
  const selected = new Map<number, ProcessEntry>();
  const isOrphan = orphanTest(table, scope);
  const queue = table.filter(
    (entry) => known.has(processKey(entry)) || isMarked(entry, scope) || isOrphan(entry),
  );
  for (let entry = queue.pop(); entry; entry = queue.pop()) {
    if (entry.pid === process.pid || selected.has(entry.pid)) continue;
    selected.set(entry.pid, entry);
    queue.push(...(childrenOf.get(entry.pid) ?? []));
  }
  return [...selected.values()].sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid);
}

function processKey(entry: Pick<ProcessEntry, "pid" | "startedAt">): string {
  return `${entry.pid}:${entry.startedAt}`;
}

function isMarked(entry: ProcessEntry, { jobMarker, leader }: ProcessScope): boolean {
  if (leader && entry.startedAt < leader.startedAt) return false;
  if (leader && entry.session === leader.pid) return true;
  const tag = entry.tag();
  if (tag !== undefined && isTag(tag)) return leader ? tag === leader.runTag : isOfJob(tag, jobMarker);
  return entry.hasVariable(JOB_VARIABLE, jobMarker);
}

/**
 * A process can remove every mark: it can lower a limit, empty its environment, leave its session. It cannot choose its parent: an
 * orphan becomes a child of this process, with another session than ours. If several jobs run, a domain or the tag of a running job says
 * to which one it belongs; without either, it is ended with the first job that ends.
 */
function orphanTest(table: readonly ProcessEntry[], scope: ProcessScope): (entry: ProcessEntry) => boolean {
  const { jobMarker, leader, family = OWN_FAMILY } = scope;
  const { jobs, leaders } = family.register;
  const since = startedSince.get(jobMarker);
  const own = table.find((entry) => entry.pid === process.pid);
  if (since === undefined || own === undefined) return () => false;
  const from = leader?.startedAt ?? since;
  const isAnothers = (tag: bigint) =>
    isTag(tag) && (leader ? tag !== leader.runTag : !isOfJob(tag, jobMarker)) && jobs.includes(jobInTag(tag));
  return (entry) =>
    entry.parentPid === own.pid &&
    entry.session !== own.session &&
    entry.startedAt >= from &&
    !leaders.includes(entry.pid) &&
    (!family.signalsOwnOnly || maySignal(entry.pid)) &&
    ((family.signalsOwnOnly && !leader) || !isAnothers(entry.tag() ?? 0n));
}

const DEFAULT_GRACE_MS = 1500;
const KILL_DEADLINE_MS = 3000;
const LONGEST_PAUSE_MS = 50;

/**
 * Ends all processes of a scope. Steps: TERM (and CONT, for stopped ones); look again until the grace is over, TERM to new ones; then STOP,
 * so that none can fork, and KILL, until a look finds none or the deadline passes. A process that only starts its successor and ends is
 * never seen alive, but its zombies are: while new ones appear, a process is still running. `running` has what the first look found.
 */
export async function killProcesses(scope: ProcessScope, graceMs: number) {
  const commands = new Map<string, { readonly pid: number; readonly command: string }>();
  const known = new Set<string>();
  const look = async () => {
    const found = selectProcesses(await readProcessTable(), scope, known);
    const alive = found.filter((entry) => !entry.zombie);
    const fresh = found.filter((entry) => !known.has(processKey(entry)));
    for (const entry of fresh) {
      known.add(processKey(entry));
      if (!entry.zombie) commands.set(processKey(entry), { pid: entry.pid, command: entry.command() });
    }
    reapOrphans((scope.family ?? OWN_FAMILY).register, found);
    return {
      alive,
      newcomers: fresh.filter((entry) => !entry.zombie),
      fled: fresh.filter((entry) => entry.zombie),
      isOver: alive.length === 0 && fresh.length === 0,
    };
  };

  const terminate = (entries: readonly ProcessEntry[]) => {
    for (const entry of entries) {
      signalProcess(entry, "SIGTERM");
      signalProcess(entry, "SIGCONT");
    }
  };
  const now = () => performance.now();

  let seen = await look();
  const running = [...commands.values()].map(({ command }) => command);
  const graceEnds = now() + graceMs;
  for (let wait = 2; !seen.isOver && now() < graceEnds; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    terminate(seen.newcomers);
    if (seen.alive.length > 0) await Bun.sleep(Math.min(wait, Math.max(0, graceEnds - now())));
    seen = await look();
  }
  const killEnds = now() + KILL_DEADLINE_MS;
  for (let wait = 1; !seen.isOver && now() < killEnds; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    for (const entry of seen.alive) signalProcess(entry, "SIGSTOP");
    const { alive, fled } = await look();
    for (const entry of alive) signalProcess(entry, "SIGKILL");
    if (scope.sharesGroup !== true) for (const entry of [...fled, ...seen.fled]) killGroup(entry);
    await Bun.sleep(seen.alive.length > 0 ? wait : 0);
    seen = await look();
  }
  const last = seen.isOver ? [] : [...seen.alive, ...(seen.alive.length === 0 ? seen.fled.slice(-1) : [])];
  for (const entry of last)
    commands.set(processKey(entry), {
      pid: entry.pid,
      command: commands.get(processKey(entry))?.command ?? entry.command(),
    });
  const survivors = new Set(last.map(processKey));
  const killed = [...commands].map(([key, named]) => ({ ...named, survived: survivors.has(key) }));
  return { running, killed };
}

/** Ends processes that sandboxes of these folders left, by their mark: a bubblewrap killed too early leaves a child that waits forever. */
export async function killStrays(...folders: readonly string[]): Promise<void> {
  for (const jobMarker of folders) await killProcesses({ jobMarker, sharesGroup: true }, 0);
}

/** Linux: kills the groups of a job's processes at once, in one look: it may multiply faster than it could be ended in order. */
export function killGroupsNow(jobMarker: string): void {
  const killed = new Set<number>();
  for (const entry of readLinuxProcesses(process.pid)) {
    if (killed.has(entry.group) || !isMarked(entry, { jobMarker })) continue;
    killed.add(entry.group);
    killGroup(entry);
  }
}

/** A whole group at once, so that none of it can fork away. A group is of one session, and so of one job. */
function killGroup({ group }: ProcessEntry): void {
  // It may have no process left.
  if (group > 1) succeeds(() => process.kill(-group, "SIGKILL"));
}

type OnBytes = (bytes: Uint8Array) => void;

export type StartedChild = ReturnType<typeof startChild>;

/** A request for a process that gets this descriptor of ours as its fourth: the way into a control group. */
export interface EnteringRequest extends ProcessRequest {
  readonly entrance?: number;
}

/** Spawns in a new session, tagged and marked. Throws the system's error if it cannot. */
function startChild(request: EnteringRequest, runTag: bigint) {
  setChildSubreaper();
  const pipes = openPipes();
  const spawn = {
    argv: request.argv,
    cwd: request.cwd,
    env: { ...request.env, [JOB_VARIABLE]: request.jobMarker },
    detached: true,
    stdio: [
      request.stdin === undefined ? "ignore" : "pipe",
      pipes?.stdout.writeFd ?? "pipe",
      pipes?.stderr.writeFd ?? "pipe",
      ...(request.entrance === undefined ? [] : [request.entrance]),
    ],
  } as const;
  try {
    const child = withInheritedTag(runTag, () => spawnChild(spawn));
    const streams = pipes ?? { stdout: fromStream(child.stdout), stderr: fromStream(child.stderr) };
    return { child, streams };
  } catch (error) {
    pipes?.stdout.stop();
    pipes?.stderr.stop();
    throw error;
  } finally {
    if (pipes) for (const pipe of [pipes.stdout, pipes.stderr]) closeSync(pipe.writeFd);
  }
}

function openPipes() {
  const stdout = openPipe();
  const stderr = openPipe();
  if (stdout.ok && stderr.ok) return { stdout: stdout.value, stderr: stderr.value };
  for (const pipe of [stdout, stderr]) {
    if (!pipe.ok) continue;
    closeSync(pipe.value.writeFd);
    pipe.value.stop();
  }
  return undefined;
}

function fromStream(stream: ReadableStream<Uint8Array> | undefined) {
  const reader = stream?.getReader();
  const ended = Promise.withResolvers<void>();
  return {
    async read(onBytes: OnBytes) {
      for (;;) {
        const next = await reader?.read().catch(() => undefined);
        if (next?.value === undefined) return ended.resolve();
        onBytes(next.value);
      }
    },
    drain: () => ended.promise,
    stop: () => void reader?.cancel().catch(() => undefined),
  };
}

const REASONS: Readonly<Record<string, StartFailureReason>> = {
  ENOENT: "program-missing",
  ENOTDIR: "program-missing",
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  ENOEXEC: "not-permitted",
  E2BIG: "arguments-too-long",
  EAGAIN: "no-resources",
  ENOMEM: "no-resources",
  EMFILE: "no-resources",
  ENFILE: "no-resources",
  ERR_INVALID_ARG_VALUE: "invalid-argument",
  ERR_INVALID_ARG_TYPE: "invalid-argument",
};

/** The operating system says ENOENT both for a missing program and a missing folder: the folder is looked at again. */
function startFailure(request: Pick<ProcessRequest, "argv" | "cwd">, cause: unknown): StartFailure {
  const program = request.argv[0];
  const code = errorCode(cause);
  const reason = folderFailure(request.cwd) ?? REASONS[code] ?? "unknown";
  const message =
    reason === "cwd-missing"
      ? `${request.cwd}: the folder to run in does not exist or cannot be entered`
      : `${program}: ${START_FAILURES[reason]} (${code})`;
  return { reason, message, cause };
}

const START_FAILURES: Readonly<Record<Exclude<StartFailureReason, "cwd-missing">, string>> = {
  "program-missing": "program not found",
  "not-permitted": "not allowed to run",
  "arguments-too-long": "the arguments and environment are too long",
  "no-resources": "the machine has no room for another process",
  "invalid-argument": "an argument or variable contains a NUL byte",
  unknown: "could not be started",
};

function folderFailure(cwd: string): StartFailureReason | undefined {
  return attemptOr("cwd-missing", () => (statSync(cwd).isDirectory() ? undefined : "cwd-missing"));
}

function errorCode(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : String(cause);
}

const DRAIN_MS = 250;
const LAST_WAIT_FOR_EXIT_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Exit = Pick<ProcessResult, "exitCode" | "signal">;
type StopCause = "timed-out" | "aborted";

const NO_EXIT: Exit = { exitCode: null, signal: null };

/** Steps: start; wait for exit, timeout or abort; on the latter two end the tree; drain; report. */
async function runProcess(family: ProcessFamily, request: ProcessRequest): Promise<ProcessResult> {
  const began = performance.now();
  const output = createProcessOutput(request);
  const endedForMemory = countOutOfMemory();
  const report = (rest: Exit & Pick<ProcessResult, "outcome" | "error" | "running">): ProcessResult => ({
    ...rest,
    ...output.finish(),
    durationMs: performance.now() - began,
    ...(rest.exitCode !== 0 && countOutOfMemory() > endedForMemory && { outOfMemory: true }),
  });
  if (request.signal?.aborted) return report({ outcome: "aborted", ...NO_EXIT });

  const runTag = newRunTag(request.jobMarker);
  const started = startProcess(family, request, runTag);
  if ("failed" in started) {
    return report({ outcome: "not-started", ...NO_EXIT, error: startFailure(request, started.failed) });
  }
  const { pid, exit, streams } = started;
  const reading = Promise.all([
    streams.stdout.read((bytes) => output.add("stdout", bytes)),
    streams.stderr.read((bytes) => output.add("stderr", bytes)),
  ]);

  const first = await Promise.race([exit, stopRequest(request, exit)]);
  const leader = { pid, startedAt: started.startedAt, runTag };
  const scope = { jobMarker: request.jobMarker, leader, family };
  const graceMs = request.graceMs ?? DEFAULT_GRACE_MS;
  const running = typeof first === "string" ? (await killProcesses(scope, graceMs)).running : [];
  const ended = typeof first === "string" ? await withTimeout(exit, LAST_WAIT_FOR_EXIT_MS) : first;
  if ((await withTimeout(reading, DRAIN_MS)) === undefined)
    for (const stream of [streams.stdout, streams.stderr]) keepDraining(request.jobMarker, stream);
  if (typeof first === "string") return report({ outcome: first, running, ...(ended ?? NO_EXIT) });
  return report({ outcome: first.signal === null ? "exited" : "signaled", ...first });
}

type StartedProcess = Pick<StartedChild, "streams"> & {
  readonly pid: number;
  readonly startedAt: number;
  readonly exit: Promise<Exit>;
};

function startProcess(
  { register }: ProcessFamily,
  request: ProcessRequest,
  runTag: bigint,
): StartedProcess | { readonly failed: unknown } {
  try {
    enter(register.jobs, jobHash(request.jobMarker));
    const { child, streams } = startChild(request, runTag);
    const { pid } = child;
    enter(register.leaders, pid);
    // Read at once, before the leader can be reaped: the start time distinguishes it from a recycled pid.
    const startedAt = readLinuxStartTime(pid) ?? 0;
    startedSince.set(
      request.jobMarker,
      Math.min(startedAt, startedSince.get(request.jobMarker) ?? startedAt),
    );
    if (child.stdin !== undefined) request.stdin?.(child.stdin);
    const exit = child.exited.then((ended) => {
      leave(register.leaders, pid);
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

/** Undefined after `ms`; two more turns of the event loop take results that have already arrived. */
export function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(undefined))), ms);
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

type CapturedOutput = Pick<ProcessResult, "output" | "stdout" | "stderr" | "truncatedBytes">;

/** Both streams of one process: each separately, both together in order of arrival, and live. */
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
    /** After `finish`, bytes are read and discarded: a background child must be able to keep writing. */
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

/** Processes of the host on which this program runs. Stateless: any number of runners of a thread see the same jobs. */
export function createProcessRunner(family: ProcessFamily = OWN_FAMILY): ProcessRunner {
  return {
    runProcess: (request) => runProcess(family, request),
    async listJobProcesses(jobMarker) {
      return selectProcesses(await readProcessTable(), { jobMarker, family })
        .filter((entry) => !entry.zombie)
        .map((entry) => ({ pid: entry.pid, command: entry.command() }));
    },
    async killJobProcesses(jobMarker, options = {}) {
      const { killed } = await killProcesses({ jobMarker, family }, options.graceMs ?? DEFAULT_GRACE_MS);
      stopDraining(jobMarker);
      leave(family.register.jobs, jobHash(jobMarker));
      // Processes that could not be ended are looked for again by the next caller.
      if (!killed.some(({ survived }) => survived)) startedSince.delete(jobMarker);
      return killed;
    },
  };
}
