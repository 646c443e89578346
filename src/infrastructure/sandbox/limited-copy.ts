import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { ProcessRunner } from "../../application/ports/platform-processes.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { LEAST_ABI, landlockAbi, type Restriction } from "../platform/landlock.ts";
import {
  createProcessRunner,
  lendRegister,
  type RunRegister,
  withTimeout,
} from "../platform/process-runner.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { createFrameReader, createRemoteProcesses, encodeFrame } from "./executor-channel.ts";
import { type ShownHome, seedHome } from "./home.ts";
import { boundRunner } from "./process-bound.ts";
import { type LimitCopy, LONGEST_START_MS } from "./start-executor.ts";

/** The first message to the thread. */
export interface LimitedWorkerSettings {
  readonly restriction: Restriction;
  readonly register: RunRegister;
}

/** Runs processes from a thread restricted by Landlock. Null where it is not, or a trial command could write outside all the same. */
async function startLimited(at: {
  readonly entry: string;
  readonly restriction: Restriction;
  /** A folder outside of everything that may be written to. */
  readonly outside: string;
  /** A folder that may be written to. */
  readonly inside: string;
}) {
  const thread = new Worker(at.entry, { smol: true });
  const remote = createRemoteProcesses((head) => thread.postMessage(encodeFrame(head)));
  const ready = Promise.withResolvers<boolean>();
  const read = createFrameReader((frame) =>
    frame.head.ready === true ? ready.resolve(frame.head.ok === true) : remote.onFrame(frame),
  );
  thread.onmessage = ({ data }: { data: Uint8Array }) => read(data);
  let isOver = false;
  const onEnd = () => {
    isOver = true;
    ready.resolve(false);
    remote.onEnd();
  };
  for (const event of ["error", "close"]) thread.addEventListener(event, onEnd);
  const stop = () => {
    remote.onEnd();
    thread.terminate();
  };
  const { restriction } = at;
  thread.postMessage({ restriction, register: lendRegister() } satisfies LimitedWorkerSettings);
  const holds = ready.promise.then((isReady) => isReady && isRestrictionEffective(remote.runner, at));
  const processes: ProcessRunner = {
    ...remote.runner,
    // A thread that failed left its processes running.
    async killJobProcesses(job) {
      const killed = await remote.runner.killJobProcesses(job);
      return isOver ? createProcessRunner().killJobProcesses(job) : killed;
    },
  };
  if ((await withTimeout(holds, LONGEST_START_MS)) === true) return { processes, stop };
  stop();
  return null;
}

/** A command that must write inside and must not outside; what it could do, not what the kernel says, counts. */
async function isRestrictionEffective(
  runner: ProcessRunner,
  { outside, inside }: { readonly outside: string; readonly inside: string },
): Promise<boolean> {
  const [out, own] = [join(outside, "trial"), join(inside, "trial")];
  const script = ': > "$1"; : > "$2"';
  await runner.runProcess({
    argv: ["/bin/sh", "-c", script, "sh", own, out],
    cwd: inside,
    env: { PATH: "/usr/bin:/bin" },
    jobMarker: "trial",
    timeoutMs: 5000,
    outputLimitBytes: 1024,
  });
  const held = existsSync(own) && !existsSync(out);
  for (const file of [own, out]) rmSync(file, { force: true });
  return held;
}

export interface LimitCopyDeps {
  readonly entry: string;
  /** Further folders and files that may be read: the program itself, how names are looked up. */
  readonly readable: readonly string[];
  readonly shown: ShownHome | null;
  /** The paths that only root may read, for a job of root. */
  readonly closed: readonly { readonly path: string }[];
  /** `worker.limits.processes`. */
  readonly processes: number;
}

const SYSTEM =
  "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /snap /gnu /proc /sys /var/lib /var/cache /run/current-system /home/linuxbrew".split(
    " ",
  );
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);

/** Folders that tools write to; a private home begins without them. */
const CACHE =
  /^\.cache\/|^\.npm$|^\.cargo\/(registry|git)$|^go\/pkg$|^\.(m2|gradle|ivy2|nuget|hex|pub-cache)\/|pnpm|_?store|pkgs$/i;

export function createLimitCopy(deps: () => LimitCopyDeps): LimitCopy | null {
  if (landlockAbi() < LEAST_ABI) return null;
  return async (job, copies, { network }) => {
    const { entry, readable, shown, closed, processes } = deps();
    const [home, temporary] = [join(job, "limited-home"), join(job, "limited-tmp")];
    for (const folder of [home, temporary]) mkdirSync(folder, { mode: 0o700 });
    if (shown !== null) furnishLimitedHome(home, shown);
    const started = await startLimited({
      entry,
      outside: job,
      inside: temporary,
      restriction: {
        reads: [
          ...SYSTEM.flatMap((path) => pathsWithoutClosed(path, closed)),
          ...readable,
          ...(shown?.folders ?? []),
        ],
        writes: [...copies.map(({ copy }) => copy), home, temporary, ...DEVICES],
        tcp: network,
      },
    });
    const stop = () => {
      started?.stop();
      for (const folder of [home, temporary]) removeTree(folder);
    };
    if (started === null) {
      stop();
      return null;
    }
    return {
      processes: boundRunner(started.processes, processes),
      environment: { HOME: home, TMPDIR: temporary },
      stop,
    };
  };
}

/** The private home: settings of tools as copies, tool chains as links to where they are. */
function furnishLimitedHome(home: string, shown: ShownHome): void {
  seedHome(home, shown);
  for (const folder of shown.folders) {
    const below = relative(shown.path, folder);
    const at = join(home, below);
    if (CACHE.test(below) || existsSync(at)) continue;
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(folder, at);
  }
}

/** A folder without what is closed in it: nothing can be taken out of a rule again. */
function pathsWithoutClosed(path: string, closed: LimitCopyDeps["closed"]): string[] {
  if (closed.some((one) => one.path === path)) return [];
  if (!closed.some((one) => isInside(path, one.path))) return [path];
  return readdirSync(path).flatMap((name) => pathsWithoutClosed(join(path, name), closed));
}
