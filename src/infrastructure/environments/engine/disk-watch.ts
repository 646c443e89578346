import type { ExecResult } from "../../../application/ports/sandbox.ts";
import type { SupervisedRequest, Supervisor } from "./supervisor.ts";

/**
 * Where the engine has no quota: while commands run, what the container's user can fill is measured from time to time,
 * and all that runs is ended once it is too much. A single file is held by RLIMIT_FSIZE besides.
 */
export interface DiskWatch {
  run(
    request: SupervisedRequest,
    start: (request: SupervisedRequest) => Promise<ExecResult>,
  ): Promise<ExecResult>;
}

export interface DiskWatchParts {
  readonly supervisor: Pick<Supervisor, "run">;
  readonly limitBytes: number;
  readonly now: () => number;
}

const FIRST_LOOK_MS = 1000;
const SHORTEST_PAUSE_MS = 2000;
/** Measuring takes at most this part of the time. */
const SHARE = 1 / 20;
const PLACES = ["/workspace", "/tmp", "/var/tmp", "/home", "/dev/shm"];

export function createDiskWatch({ supervisor, limitBytes, now }: DiskWatchParts): DiskWatch {
  const running = new Set<(usedBytes: number) => void>();
  const state: { timer?: ReturnType<typeof setTimeout> } = {};
  const look = async () => {
    const started = now();
    const used = await measure(supervisor);
    if (used > limitBytes) for (const end of running) end(used);
    const pause = Math.max(SHORTEST_PAUSE_MS, (now() - started) / SHARE);
    if (running.size > 0) state.timer = setTimeout(look, pause);
    else delete state.timer;
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
      state.timer ??= setTimeout(look, FIRST_LOOK_MS);
      const signal = request.signal ? AbortSignal.any([request.signal, stop.signal]) : stop.signal;
      const result = await start({ ...request, signal });
      running.delete(end);
      if (running.size === 0) {
        clearTimeout(state.timer);
        delete state.timer;
      }
      if (!over.full) return result;
      return {
        ...result,
        outcome: result.outcome === "aborted" ? "signaled" : result.outcome,
        limit: { kind: "disk", limitBytes },
      };
    },
  };
}

async function measure(supervisor: Pick<Supervisor, "run">): Promise<number> {
  const { stdout } = await supervisor.run({
    command: ["du"],
    argv: ["/usr/bin/du", "-skxc", ...PLACES],
    cwd: "/",
    roots: ["/"],
    timeoutMs: 120_000,
    outputLimitBytes: 4096,
    onStuck: () => undefined,
  });
  return Number(/^(\d+)\s+total$/m.exec(stdout)?.[1] ?? 0) * 1024;
}
