import { lstatSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { LimitReached } from "../../application/jobs/limit-reached.ts";
import { walkFolder } from "./walk-folder.ts";
import type { PrivateHome } from "./home.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";

const LOOK_MS = 250;
/**
 * However little the free space shrinks: somebody else may be freeing as much as the job takes. Counting a home full of
 * caches holds up the program, so not often.
 */
const AT_LEAST_EVERY_LOOKS = 1200;

/**
 * Looks, while a job runs, at how much disk it takes, and calls `onReached` once when that is more than
 * `limits.disk`. The free space is cheap to ask for; files are counted only once it has shrunk. What a command writes
 * between two looks comes on top. Returns how to stop it.
 */
export function watchDisk(plan: WatchedDisk, onReached: (reached: LimitReached) => void): () => void {
  if (plan.limits.disk === 0) return () => {};
  const look = createDiskLook(plan);
  const timer = setInterval(() => {
    const reached = look();
    if (reached === null) return;
    clearInterval(timer);
    onReached(reached);
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** One look after another. A folder that somebody takes away meanwhile is not the job's doing. */
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
    try {
      return findLimitReached(plan);
    } catch {
      return null;
    }
  };
}

type WatchedDisk = Pick<SandboxPlan, "job" | "roots" | "limits"> & {
  readonly home: Pick<PrivateHome, "folder"> | null;
};

function findLimitReached({ job, home, roots, limits }: WatchedDisk): LimitReached | null {
  const copied = roots.reduce(
    (sum, { path, source }) => sum + (source.kind === "bind" ? bytesIn(path) : 0),
    0,
  );
  const inHome = home === null ? 0 : bytesIn(home.folder);
  const changes = bytesIn(job) - copied - (home?.folder.startsWith(job) ? inHome : 0);
  if (changes > limits.disk) return new LimitReached("changes", changes, limits.disk);
  return inHome > limits.disk ? new LimitReached("home", inHome, limits.disk) : null;
}

function freeAt(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** What the files below a folder take on the disk; a sparse one takes little. */
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const { path } of walkFolder(folder)) bytes += blocksAt(join(folder, path)) * 512;
  return bytes;
}

function blocksAt(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0;
}
