import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readMounts } from "./mount-points.ts";

/** The folder of the control group of this process that a controller counts in; `top`: the uppermost that can be seen. */
export interface ControlGroup {
  readonly folder: string;
  readonly top: string;
  /** All controllers share one tree. */
  readonly unified: boolean;
}

/** Null where the controller is not mounted, or shows other groups than those of this process. */
export function findControlGroup(controller: "pids" | "memory"): ControlGroup | null {
  const own = readText("/proc/self/cgroup").split("\n");
  const ownPath = (isWanted: (names: string) => boolean) =>
    own
      .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
      .find((found) => found && isWanted(found[1] ?? ""))?.[2];
  const v1 = ownPath((names) => names.split(",").includes(controller));
  const mount = attemptOr([], readMounts).find(({ type, options }) =>
    v1 === undefined ? type === "cgroup2" : type === "cgroup" && options.includes(controller),
  );
  const path = v1 ?? ownPath((names) => names === "");
  if (mount === undefined || path === undefined) return null;
  const below = relative(mount.root, path);
  const folder = below.startsWith("..") ? mount.point : join(mount.point, below);
  const unified = v1 === undefined;
  if (unified && !readText(join(folder, "cgroup.controllers")).split(/\s/).includes(controller)) return null;
  return { folder, top: mount.point, unified };
}

/** "" where it cannot be read. */
export function readText(path: string): string {
  return attemptOr("", () => readFileSync(path, "utf8"));
}

function readNumber(path: string): number | null {
  const text = readText(path).trim();
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** Processes and threads that may still be started, as far as this group and those above it say. */
export function findRoomInGroups({ folder, top }: ControlGroup): number {
  let left = Number.POSITIVE_INFINITY;
  for (let at = folder; ; at = join(at, "..")) {
    const most = readNumber(join(at, "pids.max"));
    const now = readNumber(join(at, "pids.current"));
    if (most !== null && now !== null) left = Math.min(left, most - now);
    if (at === top || !at.startsWith(top)) return left;
  }
}

/** Processes and threads that may still be started before the whole machine has no more. */
export function findRoomInMachine(): number {
  const threads = countThreads();
  const mosts = ["threads-max", "pid_max"].map((name) => readNumber(`/proc/sys/kernel/${name}`));
  return Math.min(...mosts.map((most) => (most ?? Number.POSITIVE_INFINITY) - threads));
}

/** All processes and threads of the machine; 0 where the system does not say. */
export function countThreads(): number {
  return Number(/ \d+\/(\d+) /.exec(readText("/proc/loadavg"))?.[1] ?? 0);
}

/** Processes and threads of a user; takes a few milliseconds where there are many processes. */
export function countThreadsOfUser(uid: number): number {
  let count = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const status = readText(`/proc/${name}/status`);
    if (Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]) === uid)
      count += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1);
  }
  return count;
}

/** A process and all that it has started, as far as they still have their parents. */
export function listTree(pid: number): number[] {
  const found = [pid];
  for (const one of found) {
    for (const thread of attemptOr([], () => readdirSync(`/proc/${one}/task`)))
      for (const child of readText(`/proc/${one}/task/${thread}/children`).split(" "))
        if (/^\d+$/.test(child)) found.push(Number(child));
  }
  return found;
}

/** A group below this process's own that holds no more than so many processes. */
export interface BoundedGroup {
  readonly folder: string;
  /** Changes how many it may hold; "max": unlimited. Without effect if another process has removed the group. */
  limit(most: string): void;
  /** Processes and threads in it and below. */
  count(): number;
  refusals(): number;
  /** False while a process is in it. */
  remove(): boolean;
}

/** Makes a group for processes; null where this process may not. In the unified tree it must be threaded: its parent has processes. */
export function openBoundedGroup(
  parent: Pick<ControlGroup, "folder" | "unified">,
  name: string,
  most: string,
): BoundedGroup | null {
  const folder = join(parent.folder, name);
  const remove = () => {
    try {
      rmdirSync(folder);
      return true;
    } catch (error) {
      return (error as { code?: string }).code === "ENOENT";
    }
  };
  try {
    mkdirSync(folder);
    if (parent.unified) {
      if (readText(join(folder, "cgroup.type")).trim() !== "threaded")
        writeFileSync(join(folder, "cgroup.type"), "threaded");
      writeFileSync(join(parent.folder, "cgroup.subtree_control"), "+pids");
    }
    const limit = (count: string) => writeFileSync(join(folder, "pids.max"), count);
    limit(most);
    return {
      folder,
      limit(count) {
        if (existsSync(folder)) limit(count);
      },
      count: () => readNumber(join(folder, "pids.current")) ?? 0,
      refusals: () => Number(/^max (\d+)/m.exec(readText(join(folder, "pids.events")))?.[1] ?? 0),
      remove,
    };
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") remove();
    return null;
  }
}

/** Removes empty groups that a program left which is gone. */
export function removeLeftGroups(parent: string, isLeft: (name: string) => boolean): void {
  // Those that cannot be removed are empty and harmless.
  attemptOr(undefined, () => {
    for (const name of readdirSync(parent)) if (isLeft(name)) removeEmptyGroup(join(parent, name));
  });
}

function removeEmptyGroup(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) rmdirSync(join(folder, entry.name));
  rmdirSync(folder);
}

/** How many processes the kernel has ended for lack of memory: in this group, or on the machine where no group counts them. */
export function countOutOfMemory(): number {
  const group = findControlGroup("memory");
  const file = group && join(group.folder, group.unified ? "memory.events" : "memory.oom_control");
  const counted = /^oom_kill (\d+)/m.exec(file === null ? "" : readText(file))?.[1];
  return Number(counted ?? /^oom_kill (\d+)/m.exec(readText("/proc/vmstat"))?.[1] ?? 0);
}
