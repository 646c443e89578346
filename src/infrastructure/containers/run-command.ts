import { posix } from "node:path";
import type {
  BackgroundProcess,
  ContainerUsage,
  ExecRequest,
  ExecResult,
  SandboxFailure,
} from "../../application/ports/containers.ts";
import { pause } from "../platform/timers.ts";
import { type ContainerSettings, LABEL, readContainerSettings } from "./container-body.ts";
import { inspectContainer } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import { lostResult, openSupervisor, type SupervisedRequest, type Supervisor } from "./supervisor.ts";

/** Where the engine has no quota, the disk is measured while something runs, and all is ended once it is too much. */
type DiskWatch = ReturnType<typeof createDiskWatch>;

interface DiskWatchDeps {
  readonly supervisor: Pick<Supervisor, "run" | "list" | "end">;
  readonly limitBytes: number;
  readonly now: () => number;
}

const FIRST_LOOK_MS = 1000;
const SHORTEST_PAUSE_MS = 2000;
/** Measuring takes at most this part of the time. */
const WATCH_TIME_SHARE = 1 / 20;
const WATCHED_FOLDERS = ["/workspace", "/tmp", "/var/tmp", "/home", "/dev/shm"];

/** The image's own program: one of the project's could say what it likes. */
const DISK_COMMAND: readonly [string, ...string[]] = ["/usr/bin/du", "-skxc", ...WATCHED_FOLDERS];

/** The result of that command, in bytes. */
function readDisk(output: string): number {
  return Number(/^(\d+)\s+total$/m.exec(output)?.[1] ?? 0) * 1024;
}

function createDiskWatch({ supervisor, limitBytes, now }: DiskWatchDeps) {
  const running = new Set<() => void>();
  const state: { timer?: ReturnType<typeof setTimeout>; closed: boolean } = { closed: false };
  const plan = (ms: number) => {
    if (state.closed) return;
    state.timer = setTimeout(() => void look(), ms);
    // A look at what is left behind keeps no process alive.
    if (running.size === 0) state.timer.unref();
  };
  const look = async () => {
    const started = now();
    const full = (await measureDisk(supervisor)) > limitBytes;
    if (full) for (const end of running) end();
    const left = running.size > 0 ? [] : await supervisor.list();
    const background = "ok" in left ? [] : left;
    if (full) for (const { pid } of background) await supervisor.end(pid);
    delete state.timer;
    // Where nothing runs, nothing grows.
    if (running.size > 0 || background.length > 0)
      plan(Math.max(SHORTEST_PAUSE_MS, (now() - started) / WATCH_TIME_SHARE));
  };
  return {
    async run(
      request: SupervisedRequest,
      start: (request: SupervisedRequest) => Promise<ExecResult>,
    ): Promise<ExecResult> {
      const stop = new AbortController();
      const over = { full: false };
      const end = () => {
        over.full = true;
        stop.abort();
      };
      running.add(end);
      if (state.timer === undefined) plan(FIRST_LOOK_MS);
      else state.timer.ref();
      const signal = request.signal ? AbortSignal.any([request.signal, stop.signal]) : stop.signal;
      const result = await start({ ...request, signal });
      running.delete(end);
      if (running.size === 0) state.timer?.unref();
      if (!over.full) return result;
      return {
        ...result,
        outcome: result.outcome === "aborted" ? "signaled" : result.outcome,
        limit: { kind: "disk", limitBytes },
      };
    },
    close(): void {
      state.closed = true;
      clearTimeout(state.timer);
    },
  };
}

async function measureDisk(supervisor: Pick<Supervisor, "run">): Promise<number> {
  const { stdout } = await supervisor.run({
    command: ["du"],
    argv: DISK_COMMAND,
    cwd: "/",
    roots: ["/"],
    timeoutMs: 120_000,
    outputLimitBytes: 4096,
    onStuck: () => undefined,
  });
  return readDisk(stdout);
}

interface LeftoverDeps {
  readonly start: () => Promise<ExecResult>;
  /** Whether nothing else of ours runs there that a restart would end. */
  readonly isAlone: () => boolean;
  /** Ends all that runs in the container and keeps its files. */
  readonly restart: () => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

const LEFTOVER_TRIES = 10;
const LEFTOVER_PAUSE_MS = 500;

/** Starts a command although leftovers (a fork bomb) use up every process: tries for a while, then restarts the container once. */
async function startDespiteLeftovers(deps: LeftoverDeps): Promise<ExecResult> {
  let result = await deps.start();
  for (let i = 0; i < LEFTOVER_TRIES && isCrowded(result) && deps.isAlone(); i++) {
    if (deps.signal?.aborted) return result;
    await pause(LEFTOVER_PAUSE_MS);
    result = await deps.start();
  }
  if (!isCrowded(result) || !deps.isAlone()) return result;
  await deps.restart();
  return deps.start();
}

function isCrowded({ outcome, failure }: ExecResult): boolean {
  return outcome === "not-started" && failure?.code === "no-resources";
}

/** The open ways into containers, one for each. */
export type CommandChannels = ReturnType<typeof createCommandChannels>;

export interface CommandChannelDeps {
  readonly engine: Engine;
  readonly now: () => number;
  /** After KILL did nothing, or where no process can be started. */
  readonly restart: (container: string, why: "stuck" | "crowded") => Promise<void>;
  readonly onUse: (container: string) => void;
}

interface CommandChannel {
  readonly settings: ContainerSettings;
  readonly supervisor: Supervisor;
  readonly watch: DiskWatch;
  readonly sessions: Map<string, Promise<unknown>>;
}

/** Commands of ours that are under way, by container. */
function createCounts() {
  const counts = new Map<string, number>();
  const add = (name: string, by: number) => counts.set(name, (counts.get(name) ?? 0) + by);
  return {
    isAlone: (name: string) => (counts.get(name) ?? 0) <= 1,
    async during<T>(name: string, work: () => Promise<T>): Promise<T> {
      add(name, 1);
      try {
        return await work();
      } finally {
        if (add(name, -1).get(name) === 0) counts.delete(name);
      }
    },
  };
}

export function createCommandChannels({ engine, now, restart, onUse }: CommandChannelDeps) {
  const channels = new Map<string, Promise<CommandChannel | SandboxFailure>>();
  const closing = new AbortController();

  const connect = async (container: string): Promise<CommandChannel | SandboxFailure> => {
    const found = await inspectRunning(engine, container, undefined);
    if ("ok" in found) return found;
    const { labels, settings } = found;
    const [supervisor] = await Promise.all([
      openSupervisor({ engine, container, limits: settings.limits, now, signal: closing.signal }),
      wakeProxy(engine, labels[LABEL.proxy]),
    ]);
    if ("ok" in supervisor) return supervisor;
    const watch = createDiskWatch({ supervisor, limitBytes: settings.limits.diskBytes, now });
    return { settings, supervisor, watch, sessions: new Map() };
  };

  const restarting = new Map<string, Promise<void>>();
  const restartOnce = (container: string, why: "stuck" | "crowded") => {
    if (restarting.has(container)) return;
    close(container);
    restarting.set(
      container,
      restart(container, why).finally(() => restarting.delete(container)),
    );
  };
  const close = (container: string): void => {
    const channel = channels.get(container);
    channels.delete(container);
    void channel?.then((each) => {
      if ("ok" in each) return;
      each.watch.close();
      each.supervisor.close();
    });
  };

  const channelOf = async (container: string): Promise<CommandChannel | SandboxFailure> => {
    await restarting.get(container);
    const known = channels.get(container);
    if (known) {
      const channel = await known;
      if (!("ok" in channel) && channel.supervisor.isOpen()) return channel;
      if (channels.get(container) === known) channels.delete(container);
    }
    const fresh = channels.get(container) ?? connect(container);
    channels.set(container, fresh);
    return fresh;
  };

  const runOnce = async (container: string, request: ExecRequest, own: boolean): Promise<ExecResult> => {
    const started = now();
    if (request.signal?.aborted) return lostResult(sandboxFailure("aborted", "aborted"), 0);
    const channel = await orAborted(channelOf(container), request.signal);
    if ("ok" in channel) return lostResult(channel, Math.round(now() - started));
    const { settings, supervisor, watch, sessions } = channel;
    const supervised: SupervisedRequest = {
      ...request,
      argv: argvOf(request),
      cwd: posix.resolve(own ? "/" : settings.cwd, request.cwd ?? "."),
      roots: own ? ["/"] : settings.roots,
      onStuck: () => restartOnce(container, "stuck"),
    };
    if (own) return supervisor.run(supervised);
    onUse(container);
    const start = () => watch.run(supervised, (watched) => supervisor.run(watched));
    if (request.session === undefined) return start();
    const before = sessions.get(request.session) ?? Promise.resolve();
    const mine = before.then(start);
    sessions.set(request.session, mine);
    return mine;
  };

  const counts = createCounts();
  const run = (container: string, request: ExecRequest): Promise<ExecResult> =>
    counts.during(container, () =>
      startDespiteLeftovers({
        start: () => runOnce(container, request, false),
        isAlone: () => counts.isAlone(container),
        async restart() {
          restartOnce(container, "crowded");
          await restarting.get(container);
        },
        signal: request.signal,
      }),
    );

  return {
    run,
    /** A program of ours, outside all roots and sessions. */
    runOwn: (
      container: string,
      argv: readonly [string, ...string[]],
      signal?: AbortSignal,
    ): Promise<ExecResult> =>
      runOnce(
        container,
        { command: argv, timeoutMs: 60_000, outputLimitBytes: 64 * 1024, ...(signal && { signal }) },
        true,
      ),
    async list(container: string): Promise<readonly BackgroundProcess[] | SandboxFailure> {
      const channel = await channelOf(container);
      return "ok" in channel ? channel : channel.supervisor.list();
    },
    async end(container: string, pid: number): Promise<boolean | SandboxFailure> {
      const channel = await channelOf(container);
      return "ok" in channel ? channel : channel.supervisor.end(pid);
    },
    /** So that the first command need not wait. */
    async open(container: string, signal: AbortSignal | undefined): Promise<SandboxFailure | undefined> {
      if (signal?.aborted) return sandboxFailure("aborted", "aborted");
      const channel = await channelOf(container);
      return "ok" in channel ? channel : undefined;
    },
    close,
    closeAll(): void {
      closing.abort();
      for (const container of [...channels.keys()]) close(container);
    },
  };
}

async function inspectRunning(engine: Engine, container: string, signal: AbortSignal | undefined) {
  const inspected = await inspectContainer(engine, container, signal);
  if (!inspected.ok) return inspected;
  const { Id: id, Config, State } = inspected.value;
  const labels = Config.Labels ?? {};
  const settings = readContainerSettings(labels);
  if (!settings) return sandboxFailure("not-allowed", `${container} is not a container of PicoClaw`);
  if (State.Running) return { id, labels, settings };
  return sandboxFailure("container-stopped", `${container} is not running (${State.Status})`);
}

/** The container may have ended while it was unused, or with the engine. A running one stays as it is. */
async function wakeProxy(engine: Engine, name: string | undefined): Promise<void> {
  if (name) await engine.call("POST", `/containers/${name}/start`);
}

/** A caller that gives up does not wait for a connection that others may still use. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T | SandboxFailure> {
  if (!signal) return promise;
  const { promise: aborted, resolve } = Promise.withResolvers<SandboxFailure>();
  const onAbort = () => resolve(sandboxFailure("aborted", "aborted"));
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

function argvOf({ command, session }: ExecRequest): readonly string[] {
  if (typeof command !== "string") return command;
  if (session === undefined) return ["sh", "-c", command];
  const state = `/workspace/tmp/.picoclaw-session-${encodeURIComponent(session)}`;
  return ["sh", "-c", SESSION_SCRIPT, "sh", state, command];
}

/**
 * A command of a stateful session: working directory and exported variables are restored first and kept afterwards, also after
 * `exit`. Each is a process tree of its own, which a time limit ends.
 */
const SESSION_SCRIPT = `
__picoclaw_state=$1 __picoclaw_command=$2
if [ -r "$__picoclaw_state" ]; then . "$__picoclaw_state"; fi
__picoclaw_keep() {
  export PWD
  { export -p; echo 'cd -- "$PWD" 2>/dev/null || :'; } >"$__picoclaw_state.new" && mv -f "$__picoclaw_state.new" "$__picoclaw_state"
}
trap __picoclaw_keep EXIT
set --
eval "$__picoclaw_command"
`;

/** As the engine counts; only what is read here. */
interface ContainerStats {
  readonly memory_stats?: {
    readonly usage?: number;
    readonly stats?: Readonly<Record<string, number>>;
  };
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly pids_stats?: { readonly current?: number };
}

export async function readContainerUsage(
  { engine, channels }: { readonly engine: Engine; readonly channels: Pick<CommandChannels, "runOwn"> },
  container: string,
  signal: AbortSignal | undefined,
): Promise<ContainerUsage | SandboxFailure> {
  const found = await inspectRunning(engine, container, signal);
  if ("ok" in found) return found;
  const { id, settings } = found;
  const asked = await engine.call<ContainerStats>("GET", `/containers/${id}/stats`, {
    query: { stream: false, "one-shot": true },
    signal,
  });
  if (!asked.ok) return asked;
  const { memory_stats: memory, cpu_stats: cpu, pids_stats: pids } = asked.value;
  const measured = await channels.runOwn(id, DISK_COMMAND, signal);
  const { limits } = settings;
  // As `docker stats` shows it: what the kernel keeps of files and can give back does not count.
  const cache = memory?.stats?.inactive_file ?? memory?.stats?.total_inactive_file ?? 0;
  return {
    ok: true,
    memoryBytes: Math.max(0, (memory?.usage ?? 0) - cache),
    memoryLimitBytes: limits.memoryBytes,
    cpuSeconds: (cpu?.cpu_usage?.total_usage ?? 0) / 1e9,
    processes: pids?.current ?? 0,
    processLimit: limits.pids,
    diskBytes: readDisk(measured.stdout),
    diskLimitBytes: limits.diskBytes,
  };
}
