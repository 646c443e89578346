import type { ExecResult } from "../../application/ports/containers.ts";
import type { SupervisedRequest, Supervisor } from "./supervisor.ts";

/**
 * Where the engine has no quota: while commands or what they left behind run, what the container's user can fill is
 * measured from time to time, and all that runs is ended once it is too much. A single file is held by RLIMIT_FSIZE besides.
 */
export interface DiskWatch {
  run(
    request: SupervisedRequest,
    start: (request: SupervisedRequest) => Promise<ExecResult>,
  ): Promise<ExecResult>;
  close(): void;
}

export interface DiskWatchDeps {
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
export const DISK_COMMAND: readonly [string, ...string[]] = ["/usr/bin/du", "-skxc", ...WATCHED_FOLDERS];

/** What that command says, in bytes. */
export function readDisk(output: string): number {
  return Number(/^(\d+)\s+total$/m.exec(output)?.[1] ?? 0) * 1024;
}

export function createDiskWatch({ supervisor, limitBytes, now }: DiskWatchDeps): DiskWatch {
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
    async run(request, start) {
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
    close() {
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
