import { readdirSync, readFileSync } from "node:fs";

const EVERY_MS = 4;

/** The most memory that a process and all below it held at one moment, in MiB: the sum of resident sets, as `ps` shows them. */
export async function peakOfTree(child: {
  readonly pid: number;
  readonly exited: Promise<number>;
}): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(
      peak,
      treeOf(child.pid).reduce((sum, pid) => sum + residentOf(pid), 0),
    );
  }, EVERY_MS);
  await child.exited;
  clearInterval(timer);
  return peak / 1024;
}

function treeOf(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(treeOf)];
  } catch {
    return [];
  }
}

function residentOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
