import { closeSync, mkdtempSync, rmdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import {
  type HeadSurroundings,
  LimitReached,
  MemoryRanOut,
  type NetworkTraffic,
  type StartedBy,
} from "../../application/ports/jobs-transaction.ts";
import type { ProcessRunner } from "../../application/ports/platform-processes.ts";
import type { View } from "../../application/ports/platform-view.ts";
import { ChannelClosed, type LayeredPath, SILENT_SANDBOX } from "../../application/ports/sandbox.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { sandboxFilter } from "../platform/call-filter.ts";
import { countOutOfMemory } from "../platform/control-groups.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { type Installation, runtimeArguments } from "../platform/installation.ts";
import type { LibcResult } from "../platform/libc.ts";
import {
  openPipe,
  rawPipe,
  type SpawnedChild,
  setNonblocking,
  spawnChild,
  withInheritedTag,
  withProcessLimit,
} from "../platform/process-calls.ts";
import { killStrays, newRunTag, withTimeout } from "../platform/process-runner.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import type { ExecutorSettings } from "./executor.ts";
import {
  type Call,
  createCall,
  createFrameReader,
  createRemoteProcesses,
  createRemoteView,
  encodeFrame,
  type Frame,
  restoreThrough,
  rewriteThrough,
  writeFrame,
} from "./executor-channel.ts";
import type { PrivateHome } from "./home.ts";
import type { ObeyedSearch } from "./homes-inside.ts";
import { boundSandbox, enterGroup, openProcessBound, type ProcessBound } from "./process-bound.ts";
import {
  CONFINED_STAGE,
  type LimitedNetwork,
  limitedNetwork,
  type SandboxPlan,
  sandboxArguments,
  sandboxEnvironment,
  socketsInside,
} from "./sandbox-plan.ts";

const LOOK_MS = 250;
/** Files are counted after so many looks even if free space has not shrunk: another program may free as much. Counting blocks. */
const AT_LEAST_EVERY_LOOKS = 1200;

/**
 * Calls `onReached` once when a job takes more disk than `limits.disk`; returns how to stop. The free space is cheap to ask for,
 * and files are counted only once it has shrunk. A command can exceed the limit between two checks.
 */
function watchDisk(plan: WatchedDisk, onReached: (reached: LimitReached) => void): () => void {
  return plan.limits.disk === 0 ? () => {} : watchUntil(LOOK_MS, createDiskLook(plan), onReached);
}

/** One look after another. A folder that disappears meanwhile does not count against the job. */
export function createDiskLook(plan: WatchedDisk): () => LimitReached | null {
  let free = freeAt(plan.job);
  let looks = 0;
  return () => {
    const now = freeAt(plan.job);
    if (now >= free - plan.limits.disk / 16 && ++looks < AT_LEAST_EVERY_LOOKS) {
      free = Math.max(free, now);
      return null;
    }
    free = now;
    looks = 0;
    return attemptOr(null, () => findLimitReached(plan));
  };
}

type WatchedDisk = Pick<SandboxPlan, "job" | "roots" | "limits"> & {
  readonly home: Pick<PrivateHome, "folder"> | null;
};

function findLimitReached({ job, home, roots, limits }: WatchedDisk): LimitReached | null {
  const isCopy = ({ source }: SandboxPlan["roots"][number]) =>
    source.kind === "bind" && isInside(job, source.folder);
  const copied = roots.reduce((sum, root) => sum + (isCopy(root) ? bytesIn(root.path) : 0), 0);
  const inHome = home === null ? 0 : bytesIn(home.folder);
  const changes = bytesIn(job) - copied - (home?.folder.startsWith(job) ? inHome : 0);
  if (changes > limits.disk) return new LimitReached({ what: "changes", taken: changes, most: limits.disk });
  return inHome > limits.disk ? new LimitReached({ what: "home", taken: inHome, most: limits.disk }) : null;
}

function freeAt(folder: string): number {
  return attemptOr(0, () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  });
}

/** The disk space of the files below a folder; a sparse one takes little. */
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const { stats } of walkFolder(folder)) bytes += stats.blocks * 512;
  return bytes;
}

/** Looks again and again, and calls `onFound` once with what a look finds. Returns how to stop it. */
function watchUntil<T>(everyMs: number, look: () => T | null, onFound: (found: T) => void): () => void {
  const timer = setInterval(() => {
    const found = look();
    if (found === null) return;
    clearInterval(timer);
    onFound(found);
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

const COMPLAINT_CHARACTERS = 4000;
/** A sandbox starts within some 20 ms, or within seconds on a machine under heavy load. */
export const LONGEST_START_MS = 30_000;

/** A process that is making a sandbox, and the executor in it. */
interface SpawnedSandbox {
  readonly plan: SandboxPlan;
  readonly bound: ProcessBound;
  readonly channels: Channels;
  readonly child: SpawnedChild;
  readonly exited: Promise<void>;
}

/** An executor inside its sandbox, from its process to its end. */
class Executor {
  readonly call: Call;
  readonly view: View;
  /** The variables of processes inside, beside the job's own. */
  readonly environment: Readonly<Record<string, string>>;
  readonly processes: ProcessRunner;
  /** Resolves when it was asked to end and its namespace has no processes left; its mounts may still exist. */
  readonly quiet: Promise<void>;
  /** The way to the head's socket; null without a head, and until the executor is ready. */
  headPort: number | null = null;
  readonly #sandbox: SpawnedSandbox;
  readonly #ready = Promise.withResolvers<number | null>();
  readonly #complaining: Promise<void>;
  readonly #endedForMemory = countOutOfMemory();
  #complaint = "";
  #whyEnded: Error | null = null;
  #stopping: Promise<void> | null = null;
  /** Ends each watch over a limit; null until the executor is ready. */
  #watches: readonly (() => void)[] | null = null;

  constructor(sandbox: SpawnedSandbox) {
    this.#sandbox = sandbox;
    const { calls, answers, requests, replies, complaints } = sandbox.channels;
    const call = createCall(calls.writeEnd, answers.readEnd);
    this.call = (head, body) => this.#useChannel(() => call(head, body));
    this.view = createRemoteView(this.call);
    this.environment = sandboxEnvironment(sandbox.plan);
    this.#complaining = complaints.read((bytes) => {
      this.#complaint = (this.#complaint + Buffer.from(bytes).toString("utf8")).slice(-COMPLAINT_CHARACTERS);
    });
    const quiet = Promise.withResolvers<void>();
    void sandbox.exited.then(quiet.resolve);
    this.quiet = quiet.promise;
    // Where the executor has ended, the end of its replies informs every caller that waits for one.
    const remote = createRemoteProcesses(
      (head) => succeeds(() => this.#useChannel(() => writeFrame(requests.writeEnd, encodeFrame(head)))),
      () => this.#endJob(this.#findCauseOfEnd()),
    );
    this.processes = remote.runner;
    const onFrame = (frame: Frame) => {
      const { ready, headPort, alone, processes } = frame.head;
      if (ready === true) this.#ready.resolve(typeof headPort === "number" ? headPort : null);
      // The executor's last frame. Closed descriptors are not a sign: bubblewrap holds them until the mounts are gone.
      else if (alone === true) quiet.resolve();
      else if (processes === true) this.#onProcessLimit();
      else remote.onFrame(frame);
    };
    void replies.read(createFrameReader(onFrame)).then(() => {
      if (this.#stopping === null) this.#whyEnded ??= this.#findCauseOfEnd();
      remote.onEnd();
    });
  }

  /** Ends a silent executor. Its channels close as soon as it is asked to end: their numbers may then be those of other files. */
  #useChannel<T>(use: () => T): T {
    if (this.#stopping !== null) throw new ChannelClosed();
    try {
      return use();
    } catch (error) {
      if (error instanceof ChannelClosed) this.#endJob(this.#findCauseOfEnd());
      throw error;
    }
  }

  /** False if its sandbox ended instead. */
  async becomesReady(): Promise<boolean> {
    // Not a blocking read: a sandbox that was killed half made may never close its end.
    const becoming = Promise.race([
      this.#ready.promise.then((headPort) => ({ headPort })),
      this.#sandbox.exited.then(() => undefined),
    ]);
    const ready = await withTimeout(becoming, LONGEST_START_MS);
    this.headPort = ready?.headPort ?? null;
    return ready !== undefined;
  }

  watchLimits(): void {
    const { plan, bound } = this.#sandbox;
    const isFull = () => bound.isReached() || null;
    this.#watches = [
      watchDisk(plan, (reached) => this.#endJob(reached)),
      watchUntil(bound.lookMs, isFull, () => this.#onProcessLimit()),
    ];
  }

  /** Why it ended before the job did: its last operation may be half done. Null while it works. */
  whyEnded(): Error | null {
    return this.#whyEnded;
  }

  complaint(): string {
    return this.#complaint.trim() || SILENT_SANDBOX;
  }

  /** Ends the executor and, with its namespace, everything that runs in it. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  async #end(): Promise<void> {
    const { plan, channels, child, exited } = this.#sandbox;
    for (const unwatch of this.#watches ?? []) unwatch();
    closeSync(channels.calls.writeEnd);
    closeSync(channels.requests.writeEnd);
    // The executor exits when its channels close; when bubblewrap dies, the kernel ends the rest of the namespace.
    const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    await withTimeout(exited, LONGEST_END_MS);
    clearTimeout(timer);
    closeSync(channels.answers.readEnd);
    await withTimeout(this.#complaining, GRACE_MS);
    // A process that escaped from the sandbox may hold them open indefinitely.
    for (const { stop } of [channels.complaints, channels.replies]) stop();
    // A home that reached its limit is not worth keeping as a cache.
    if (this.#whyEnded instanceof LimitReached && this.#whyEnded.reached.what === "home")
      for (const { name } of plan.home?.layers ?? []) removeTree(join(plan.home?.folder ?? "", name, "u"));
  }

  #onProcessLimit(): void {
    if (this.#watches !== null) this.#endJob(this.#tooManyProcesses());
  }

  #endJob(why: Error): void {
    this.#whyEnded ??= why;
    void this.stop();
  }

  /** The executor's runtime ends if it cannot start a thread, and the kernel ends it if memory runs out. */
  #findCauseOfEnd(): Error {
    if (this.#sandbox.bound.isReached()) return this.#tooManyProcesses();
    return countOutOfMemory() > this.#endedForMemory ? new MemoryRanOut() : new ChannelClosed();
  }

  #tooManyProcesses(): LimitReached {
    const { bound, plan } = this.#sandbox;
    return new LimitReached({ what: "processes", most: bound.most, configured: plan.limits.processes });
  }
}

export type ExecutorStart =
  | { readonly ok: true; readonly executor: Executor }
  | { readonly ok: false; readonly complaint: string };

/** Starts the executor inside a sandbox and waits until it is ready. If that fails, no command of the job has run. */
export async function startExecutor(
  plan: SandboxPlan,
  installation: Installation,
  env: Readonly<Record<string, string>>,
): Promise<ExecutorStart> {
  const bound = openProcessBound(plan.limits.processes, true);
  const channels = openChannels();
  if (channels === null) {
    bound.release();
    return { ok: false, complaint: "no pipes" };
  }
  const stage = openStage(plan);
  const command = executorCommand(installation, plan, bound, env.PATH ?? SYSTEM_PATH);
  const argv = () => boundSandbox([plan.bubblewrap, ...sandboxArguments(plan, command, stage.path())], bound);
  const child = spawnSandbox(plan, argv, env, { channels, bound });
  if ("complaint" in child) {
    stage.close();
    bound.release();
    for (const end of [channels.calls.writeEnd, channels.requests.writeEnd, channels.answers.readEnd])
      closeSync(end);
    for (const { stop } of [channels.complaints, channels.replies]) stop();
    return { ok: false, complaint: child.complaint };
  }
  const group = enterGroup(bound, child.pid);
  const exited = child.exited.then(async () => {
    await group.begun;
    bound.release();
  });
  const executor = new Executor({ plan, bound, channels, child, exited });
  const isReady = await executor.becomesReady();
  stage.close();
  if (!isReady) {
    await killStrays(plan.job);
    await executor.stop();
    return { ok: false, complaint: executor.complaint() };
  }
  await group.finish();
  executor.watchLimits();
  return { ok: true, executor };
}

/** Closes the ends of the channels that belong to the child. */
function spawnSandbox(
  { confined, job, network }: SandboxPlan,
  argv: () => readonly string[],
  env: Readonly<Record<string, string>>,
  { channels, bound }: Pick<SpawnedSandbox, "channels" | "bound">,
): SpawnedChild | { readonly complaint: string } {
  const { calls, answers, requests, replies, complaints, filter } = channels;
  writeFrame(filter.writeEnd, sandboxFilter({ hasHostNetwork: network === "host" }));
  closeSync(filter.writeEnd);
  const ends = [
    requests.readEnd,
    replies.writeFd,
    complaints.writeFd,
    calls.readEnd,
    answers.writeEnd,
    ...(confined ? [filter.readEnd] : []),
  ];
  // The runtime would keep a cache in the home of the view, which may be in the workspace.
  const variables = { ...env, PATH: SYSTEM_PATH, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
  const start = () => spawnChild({ argv: argv(), stdio: ends, env: variables, cwd: "/", detached: false });
  try {
    return withInheritedTag(newRunTag(job), () => withProcessLimit(bound.mostOfUser, start));
  } catch (error) {
    return { complaint: (error as Error).message };
  } finally {
    for (const end of ends) closeSync(end);
    if (!confined) closeSync(filter.readEnd);
  }
}

/** Without confinement the folder for the set-up must exist on the host; it is removed with its mounts when the sandbox is ready. */
function openStage({ confined }: SandboxPlan) {
  let made: string | null = null;
  return {
    path(): string {
      if (confined) return CONFINED_STAGE;
      made = mkdtempSync("/tmp/picoclaw-stage-");
      return made;
    },
    close(): void {
      // At worst an empty folder remains.
      succeeds(() => made !== null && rmdirSync(made));
    },
  };
}

function executorCommand(
  { folder, runtime, executor }: Installation,
  plan: SandboxPlan,
  { most, spare, beside }: ProcessBound,
  path: string,
): string[] {
  const settings: ExecutorSettings = {
    root: plan.directory,
    path,
    ...socketsInside(plan),
    limits: { ...plan.limits, processes: most },
    allowance: { spare, beside },
  };
  return [runtime, ...runtimeArguments(folder, executor), JSON.stringify(settings)];
}

type Channels = NonNullable<ReturnType<typeof openChannels>>;

/** Null, with none left open, if the system has no more of them. */
function openChannels() {
  const opened: (() => void)[] = [];
  const open = <T>(made: LibcResult<T>, close: (pipe: T) => void): T => {
    if (!made.ok) throw made;
    opened.push(() => close(made.value));
    return made.value;
  };
  const raw = () => open(rawPipe(), (pipe) => Object.values(pipe).forEach(closeSync));
  const read = () =>
    open(openPipe(), ({ writeFd, stop }) => {
      closeSync(writeFd);
      stop();
    });
  try {
    const [calls, answers, requests, filter] = [raw(), raw(), raw(), raw()];
    for (const { writeEnd } of [calls, requests]) setNonblocking(writeEnd);
    return { calls, answers, requests, filter, replies: read(), complaints: read() };
  } catch {
    for (const close of opened) close();
    return null;
  }
}

const GRACE_MS = 500;
/** A process that hangs in the kernel, for example on a file system that does not answer, survives SIGKILL. */
const LONGEST_END_MS = 30_000;

/** A sandbox that is about to be started: everything of its plan but the roots and the job's folder. */
export interface OpenedSandbox {
  readonly sandbox: Omit<SandboxPlan, "roots" | "job" | "directory">;
  /** What a proxy outside saw; absent where there is no proxy. */
  readonly takeTraffic?: () => NetworkTraffic;
  /** Where the home of jobs was put that an earlier job had left unusable. */
  readonly homeAside: string | null;
  /** To be called once, when the sandbox is gone. Returns the place of a home that had to be put aside. */
  readonly release: () => string | null;
}

/** An executor that can end and start again during its job. */
export type Wakeable = ReturnType<typeof createWakeable>;

export function createWakeable(deps: {
  readonly open: (head?: HeadSurroundings) => Promise<OpenedSandbox>;
  readonly start: (sandbox: OpenedSandbox["sandbox"]) => Promise<ExecutorStart>;
}) {
  let awake: { readonly executor: Executor; readonly opened: OpenedSandbox } | null = null;
  let why: Error | null = null;
  let homeAside: string | null = null;
  const seen: NetworkTraffic[] = [];
  const executor = (): Executor => {
    if (awake === null) throw new Error("the sandbox of this job rests");
    return awake.executor;
  };
  const collect = () => {
    const traffic = awake?.opened.takeTraffic?.();
    if (traffic !== undefined) seen.push(traffic);
  };
  /** As `rest`, but done when nothing of the job runs any more. `gone`: so is the sandbox, which takes the kernel tens of milliseconds. */
  const quieten = async (): Promise<{ readonly gone: Promise<void> }> => {
    if (awake === null) return { gone: Promise.resolve() };
    const { executor, opened } = awake;
    why ??= executor.whyEnded();
    collect();
    awake = null;
    const gone = executor.stop().then(() => {
      homeAside = opened.release() ?? homeAside;
    });
    await Promise.race([executor.quiet, gone]);
    return { gone };
  };
  const processes: ProcessRunner = {
    runProcess: (request) => executor().processes.runProcess(request),
    listJobProcesses: async (job) => (await awake?.executor.processes.listJobProcesses(job)) ?? [],
    killJobProcesses: async (job) => (await awake?.executor.processes.killJobProcesses(job)) ?? [],
  };
  const call: Call = (head, body) => executor().call(head, body);
  return {
    processes,
    /** The job's files; `onFault` receives each fault before the caller does. */
    view: (onFault: (error: unknown) => void): View =>
      createRemoteView((head, body) => {
        try {
          return call(head, body);
        } catch (error) {
          onFault(error);
          throw error;
        }
      }),
    restore: (absolute: string) => restoreThrough(call, absolute),
    /** Removes what the job left at a path, so that the layers below show. */
    remove: (absolute: string) => call({ op: "restore", path: absolute, kind: "missing", parents: [] }),
    rewrite: (absolute: string, bytes: Uint8Array, place: LayeredPath | null) =>
      rewriteThrough(call, absolute, bytes, place),
    /** Why an executor ended without being asked to. */
    whyEnded: (): Error | null => why ?? awake?.executor.whyEnded() ?? null,
    isAwake: () => awake !== null,
    /** The home that was put aside, because this job or an earlier one had left it unusable. */
    homeAside: (): string | null => homeAside,
    headPort: (): number | null => awake?.executor.headPort ?? null,
    takeTraffic(): NetworkTraffic {
      collect();
      const taken = seen.splice(0);
      return {
        refused: taken.flatMap(({ refused }) => refused),
        reached: taken.flatMap(({ reached }) => reached),
      };
    },
    /** Null when it is ready, else the error message. Idempotent. */
    async wake(head?: HeadSurroundings): Promise<string | null> {
      if (awake !== null) return null;
      const opened = await deps.open(head);
      homeAside ??= opened.homeAside;
      const started = await deps.start(opened.sandbox);
      if (!started.ok) {
        opened.release();
        return started.complaint;
      }
      awake = { executor: started.executor, opened };
      return null;
    },
    quieten,
    /** Idempotent. */
    rest: async (): Promise<void> => (await quieten()).gone,
  };
}

export interface ConfinedCopyDeps {
  readonly workspace: string;
  readonly job: string;
  readonly copies: readonly {
    readonly original: string;
    /** The original itself: written to directly. Null: an overlay; its changes stay in the job's folder, in `u` and `w` with its number. */
    readonly copy: string | null;
    readonly readOnly?: boolean;
  }[];
  readonly installation: Installation;
  readonly env: Readonly<Record<string, string>>;
  readonly takeTraffic?: () => NetworkTraffic;
  readonly hiddenHome: (words: string) => readonly string[];
  readonly sandbox: Omit<SandboxPlan, "roots" | "job" | "directory">;
}

/** A copy that the commands of its job see at the workspace's own path. */
export interface ConfinedCopy {
  readonly view: View;
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly limited: LimitedNetwork;
  /** Whether it is isolated from the rest of the machine. */
  readonly confined: boolean;
  /** Paths of the home that these words name and that are hidden here. */
  readonly hiddenHome: (words: string) => readonly string[];
  /** Why its executor ended before the job did. */
  readonly whyEnded: () => Error | null;
  /** The home that was put aside; asked when it is stopped. */
  readonly homeAside: () => string | null;
  readonly stop: () => Promise<void>;
}

export type ConfineCopy = (
  job: string,
  copies: ConfinedCopyDeps["copies"],
  options: {
    readonly startedBy: StartedBy;
    readonly network: boolean;
    readonly throwAway?: boolean;
    /** Where ports of a separate network are requested; the socket already exists. */
    readonly callersSocket?: string | undefined;
    /** Files that must appear empty, in addition to those of every sandbox. */
    readonly hidden?: readonly string[];
  },
) => Promise<ConfinedCopy | { readonly complaint: string } | null>;

/** A copy whose processes are limited: they stay in their view for writing, but see the machine's own paths. */
export interface LimitedCopy {
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly stop: () => void;
}

/** Null if the kernel has no such limit, or if a trial showed that it does not hold. */
export type LimitCopy = (
  job: string,
  copies: readonly { readonly copy: string }[],
  options: { readonly network: boolean },
) => Promise<LimitedCopy | null>;

/** How processes on the live folder or on a copy of it are isolated from the rest of the machine. */
export interface Confinement {
  confine(): ConfineCopy | null;
  /** Limits the processes of a copy that cannot be confined; null if the kernel cannot. */
  limit(): LimitCopy | null;
  /** Entries of homes in the workspace that no command may see. */
  hiddenInHomes(): readonly string[];
  /** The files of the workspace that commands started so may not read; absolute. */
  secretFiles(startedBy: StartedBy): readonly string[];
  /** Entries of such homes that programs of the user run or obey. */
  obeyedInHomes(search: ObeyedSearch): readonly string[];
}

/** Shows each copy in the place of its original inside a sandbox; the rest of the machine is as for an overlay. */
export async function confineCopy({
  workspace,
  job,
  copies,
  installation,
  env,
  sandbox,
  takeTraffic,
  hiddenHome,
}: ConfinedCopyDeps): Promise<Omit<ConfinedCopy, "homeAside"> | { readonly complaint: string }> {
  const roots = copies.map(({ original, copy, readOnly = false }) => ({
    path: original,
    source: copy === null ? { kind: "overlay" as const } : { kind: "bind" as const, folder: copy, readOnly },
  }));
  const started = await startExecutor({ ...sandbox, job, directory: workspace, roots }, installation, env);
  if (!started.ok) return { complaint: started.complaint };
  const { executor } = started;
  return {
    view: executor.view,
    processes: executor.processes,
    whyEnded: () => executor.whyEnded(),
    stop: () => executor.stop(),
    environment: executor.environment,
    confined: sandbox.confined,
    hiddenHome,
    limited: limitedNetwork(sandbox.network, takeTraffic),
  };
}
