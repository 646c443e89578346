import { edenGC } from "bun:jsc";

/** The runtime's own chores, without the calls of the C library that a small job does not load. */

const stdio: ["ignore", "ignore", "ignore"] = ["ignore", "ignore", "ignore"];

/** Starts a process without waiting for it; it continues when this one ends. */
export function spawnUnattended(
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): void {
  Bun.spawn({ cmd: [...argv], cwd: "/", env: { ...env }, stdio }).unref();
}

/** Everything on the file system that holds a path reaches the disk. False where no program could see to it. */
export async function flushFileSystem(path: string): Promise<boolean> {
  try {
    const env = { PATH: "/usr/bin:/bin" };
    return (await Bun.spawn({ cmd: ["sync", "-f", path], cwd: "/", env, stdio }).exited) === 0;
  } catch {
    return false;
  }
}

/** A collection of the newest objects takes less than a millisecond. */
const ENTRIES_A_SWEEP = 10_000;

/** In a pass over many entries, once for each of them: what it left behind is given back now and then. */
export function createSweep(): () => void {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen % ENTRIES_A_SWEEP === 0) edenGC();
  };
}

/** So many entries leave enough behind to be collected at once. */
const MANY_ENTRIES = 20_000;

/** Between two steps of a job with many entries: frees unreferenced memory before the runtime would by itself. */
export function collectGarbage(entries: number): void {
  if (entries > MANY_ENTRIES) Bun.gc(true);
}
