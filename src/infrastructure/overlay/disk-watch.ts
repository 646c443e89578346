import { lstatSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { LimitReached } from "../../application/work/limit-reached.ts";
import { walk } from "../workspace/walk.ts";
import type { SandboxPlan } from "./sandbox.ts";

const LOOK_MS = 250;
/** However little the free space shrinks: somebody else may be freeing as much as the job takes. */
const AT_LEAST_EVERY_LOOKS = 120;

/**
 * Looks, while a job runs, at how much disk it takes, and calls `onReached` once when that is more than
 * `limits.disk`. The free space is cheap to ask for; files are counted only once it has shrunk. What a command writes
 * between two looks comes on top. Returns how to stop it.
 */
export function watchDisk(
  plan: Pick<SandboxPlan, "job" | "home" | "roots" | "limits">,
  onReached: (reached: LimitReached) => void,
): () => void {
  const limit = plan.limits.disk;
  if (limit === 0) return () => {};
  let free = freeAt(plan.job);
  let looks = 0;
  const timer = setInterval(() => {
    const now = freeAt(plan.job);
    if (now >= free - limit / 16 && ++looks < AT_LEAST_EVERY_LOOKS) {
      free = Math.max(free, now);
      return;
    }
    free = now;
    looks = 0;
    const reached = takes(plan);
    if (reached === null) return;
    clearInterval(timer);
    onReached(reached);
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function takes({ job, home, roots, limits }: Parameters<typeof watchDisk>[0]): LimitReached | null {
  const copied = roots.reduce(
    (sum, { path, source }) => sum + (source.kind === "bind" ? bytesIn(path) : 0),
    0,
  );
  const inHome = (home?.layers ?? []).reduce((sum, { folder }) => sum + bytesIn(folder), 0);
  const changes =
    bytesIn(job) - copied - (home?.layers.some(({ folder }) => folder.startsWith(job)) ? inHome : 0);
  if (changes > limits.disk) return new LimitReached("changes", changes, limits.disk);
  return inHome > limits.disk ? new LimitReached("home", inHome, limits.disk) : null;
}

function freeAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** What the files below a folder take on the disk; a sparse one takes little. */
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const { path } of walk(folder)) bytes += blocksAt(join(folder, path)) * 512;
  return bytes;
}

function blocksAt(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0;
}
