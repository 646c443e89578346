import { closeSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { release } from "node:os";
import { join, resolve } from "node:path";
import { LimitReached } from "../../application/ports/jobs-transaction.ts";
import type { ProcessRequest, ProcessRunner } from "../../application/ports/platform-processes.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import {
  type BoundedGroup,
  type ControlGroup,
  countThreads,
  countThreadsOfUser,
  findControlGroup,
  findRoomInGroups,
  findRoomInMachine,
  listTree,
  openBoundedGroup,
  removeLeftGroups,
} from "../platform/control-groups.ts";
import { findProgram } from "../platform/find-program.ts";
import { readProcessLimit } from "../platform/process-calls.ts";
import { type EnteringRequest, killGroupsNow } from "../platform/process-runner.ts";
import { maySignal } from "../platform/process-table.ts";
import { withLimits } from "./job-limits.ts";

/**
 * How many processes a job may have here. Steps: ask how many can still be started around this program (the pids limit of a
 * container, systemd's TasksMax, the user's own limit, the machine's); keep a part; lay the rest on the job. The kernel
 * counts an ordinary user's processes (RLIMIT_NPROC). Root's it does not, so those get a control group. Where neither
 * holds, the number that is left is watched, and the job ends before it is nought. See
 * docs/decisions/007-the-edges-of-a-job.md.
 */
export type ProcessBound = ReturnType<typeof openProcessBound>;

/** A job must not take all that is left: other programs start processes while it runs. */
export function divideRoom(left: number): {
  readonly kept: number;
  readonly spare: number;
  readonly most: number;
} {
  const room = Math.max(0, left);
  const kept = Math.max(Math.floor(room / 4), Math.min(64, Math.floor(room / 2)));
  const spare = Math.max(LEAST_SPARE, Math.min(64, Math.floor(room / 4)));
  return { kept, spare, most: Math.max(LEAST_PROCESSES, room - kept - spare) };
}

/** A shell and a few programs: with fewer no command runs. */
const LEAST_PROCESSES = 8;
/** With fewer threads the executor does not start. */
const LEAST_SPARE = 16;

/** With less than this, runtimes wait for threads that never start: it is better said than tried. */
const LEAST_ROOM = 12;

const LOOK_MS = 250;
/** A fork bomb starts some ten thousand processes in a second. */
const CLOSE_LOOK_MS = 20;
/** The share of a limit that counts as reached: between two looks, the last few processes may already be refused. */
export const NEARLY = 0.95;

const IN_USE = new Set<object>();

/** Throws `LimitReached` where there is no room. `configured`: `worker.limits.processes`. `isSandboxed`: in a user namespace of its own. */
export function openProcessBound(configured: number, isSandboxed: boolean) {
  const isExempt = isExemptFromLimits();
  const pids = findControlGroup("pids");
  const leftAround = () =>
    Math.min(pids === null ? Number.POSITIVE_INFINITY : findRoomInGroups(pids), findRoomInMachine());
  const around = leftAround();
  const ofUser = isExempt ? NOT_COUNTED : findRoomOfUser(configured, around, isSandboxed);
  const room = Math.min(around, ofUser.left);
  if (room < LEAST_ROOM) throw new LimitReached({ what: "no-processes", left: Math.max(0, room) });
  const { kept, spare, most: free } = divideRoom(room);
  /** Processes and threads of the job. */
  const most = configured > 0 ? Math.min(configured, free) : free;
  const share = { job: most + (isSandboxed ? spare : 0), all: room - kept };
  const group = isExempt && pids !== null ? openJobGroup(pids, share) : null;
  const mostOfUser = ofUser.count === null ? null : ofUser.count + (isSandboxed ? share.all : most);
  /** The job is limited only by polling: it has lower priority than this program, which would otherwise poll too late. */
  const isWatched = group === null && (isExempt || (!isSandboxed && mostOfUser === null));
  const look = () => {
    if (group !== null && group.refusals() > 0) return true;
    // A job that is only polled keeps running for a while after a look.
    if (isExempt || isWatched) return leftAround() < (isWatched ? room / 2 : kept);
    // To count one user's takes milliseconds; all together are known at once.
    if (mostOfUser === null || countThreads() < mostOfUser * NEARLY) return false;
    return countThreadsOfUser(ownUser()) >= mostOfUser - most * (1 - NEARLY);
  };
  let isReached = false;
  const use = {};
  IN_USE.add(use);
  return {
    most,
    /** Processes and threads that the executor of a sandbox may have beside those. */
    spare,
    /** Processes that an old kernel counts among the job's, though they are others of the user. */
    beside: isSandboxed && !countsByNamespace() ? (ofUser.count ?? 0) : 0,
    /** Processes and threads that the user may have while the job runs, all jobs included; null where only `most` counts. */
    mostOfUser: mostOfUser !== null && Number.isFinite(mostOfUser) ? mostOfUser : null,
    /** The file through which a process enters the job's group; null where there is none. */
    entrance: group === null ? null : join(group.folder, "cgroup.procs"),
    isWatched,
    /** How often `isReached` wants to be asked. */
    lookMs: isWatched ? CLOSE_LOOK_MS : LOOK_MS,
    /** Whether the job has taken all that it may, as far as that can be seen from outside its sandbox. */
    isReached() {
      isReached ||= look();
      return isReached;
    },
    /** To be called when nothing of the job runs any more. Idempotent. */
    release() {
      if (!IN_USE.delete(use) || group === null) return;
      closeJobGroup(group);
    },
  };
}

const ownUser = () => process.getuid?.() ?? 0;

/** Whether the kernel ignores RLIMIT_NPROC: true for the machine's own root, with or without capabilities. */
function isExemptFromLimits(): boolean {
  if (process.getuid?.() !== 0) return false;
  return attemptOr(true, () => /^\s*0\s+0\s/.test(readFileSync("/proc/self/uid_map", "utf8")));
}

interface RoomOfUser {
  /** Processes and threads of the user; null where they were not counted, or cannot be. */
  readonly count: number | null;
  readonly left: number;
}

const NOT_COUNTED: RoomOfUser = { count: null, left: Number.POSITIVE_INFINITY };

/** They are counted only where they matter: in a sandbox that is where several jobs at once could take all that is left. */
function findRoomOfUser(configured: number, around: number, isSandboxed: boolean): RoomOfUser {
  const most = readProcessLimit();
  const wanted = (IN_USE.size + 1) * 2 * configured;
  const least = Math.min(around, most - countThreads());
  const isAmple = configured > 0 && divideRoom(least).most >= wanted;
  if (isSandboxed && isAmple && countsByNamespace()) return NOT_COUNTED;
  if (!seesAllOfUser()) return NOT_COUNTED;
  const count = countThreadsOfUser(ownUser());
  return { count, left: most - count };
}

/** Since Linux 5.14 a user namespace counts its own processes, and those above count them too. */
function countsByNamespace(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** In a container without a user namespace, the kernel also counts processes of the same uid outside the container. */
function seesAllOfUser(): boolean {
  return attemptOr(
    false,
    () =>
      readlinkSync("/proc/self/ns/pid") === FIRST_PID_NAMESPACE ||
      (countsByNamespace() && readlinkSync("/proc/self/ns/user") !== FIRST_USER_NAMESPACE),
  );
}

/** Numbers that the kernel gives to no other namespace. */
const FIRST_PID_NAMESPACE = "pid:[4026531836]";
const FIRST_USER_NAMESPACE = "user:[4026531837]";

/** The group of all jobs of this program; each job has one of its own in it. */
const ALL_JOBS = new Map<"group", BoundedGroup>();
/** Groups of jobs that are over, whose last processes are still being taken apart. */
const LEAVING = new Set<BoundedGroup>();
const JOBS_OF_PROGRAM = /^picoclaw-(\d+)$/;

function openJobGroup(
  pids: ControlGroup,
  share: { readonly job: number; readonly all: number },
): BoundedGroup | null {
  const { unified } = pids;
  const most = (count: number) => (Number.isFinite(count) ? String(count) : "max");
  removeLeaving();
  let all = ALL_JOBS.get("group");
  if (all === undefined) {
    removeLeftGroups(pids.folder, (name) => {
      const owner = JOBS_OF_PROGRAM.exec(name)?.[1];
      return owner !== undefined && !maySignal(Number(owner));
    });
    all = openBoundedGroup(pids, `picoclaw-${process.pid}`, most(share.all)) ?? undefined;
    if (all === undefined) return null;
    ALL_JOBS.set("group", all);
    process.off("exit", removeAtExit).on("exit", removeAtExit);
  } else all.limit(most(all.count() + share.all));
  const own = openBoundedGroup({ folder: all.folder, unified }, crypto.randomUUID(), most(share.job));
  if (own === null) closeAllJobs();
  return own;
}

/** A killed process takes a moment until the kernel has taken it out of its group, on a busy machine seconds. */
const AGAIN_MS = 10;
const LONGEST_AGAIN_MS = 10_000;
const MOST_TRIES = 20;

function closeJobGroup(group: BoundedGroup): void {
  LEAVING.add(group);
  const again = (waitMs: number) => {
    if (!removeLeaving() && waitMs < LONGEST_AGAIN_MS) setTimeout(again, waitMs, waitMs * 2).unref();
  };
  again(AGAIN_MS);
}

function removeAtExit(): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; tries < MOST_TRIES && !removeLeaving(); tries++) Atomics.wait(clock, 0, 0, AGAIN_MS);
}

/** False while a process is still in one of them. */
function removeLeaving(): boolean {
  for (const group of LEAVING) if (group.remove()) LEAVING.delete(group);
  closeAllJobs();
  return LEAVING.size === 0;
}

/** Only where no job has a group in it: it cannot be removed otherwise. */
function closeAllJobs(): void {
  if (ALL_JOBS.get("group")?.remove() === true) ALL_JOBS.delete("group");
}

/** The bound of a job that runs without a sandbox. */
interface JobBound {
  readonly configured: number;
  readonly bound: ProcessBound;
  /** Open for writing: where Landlock holds, a command could not open it. */
  readonly entrance: number | null;
  readonly ended: AbortController;
  readonly stop: () => void;
}

const UNSANDBOXED = new Map<string, JobBound>();

/** Bounds processes without a sandbox. Commands of a job that takes all it may fail with `tooMany` until its processes are killed. */
export function boundRunner(runner: ProcessRunner, configured: number): ProcessRunner {
  if (process.platform !== "linux") return runner;
  const open = (jobMarker: string): JobBound => {
    const known = UNSANDBOXED.get(jobMarker);
    if (known !== undefined) return known;
    const bound = openProcessBound(configured, false);
    const entrance = bound.entrance === null ? null : openSync(bound.entrance, "w");
    const ended = new AbortController();
    const timer = setInterval(() => {
      if (!bound.isReached()) return;
      clearInterval(timer);
      killGroupsNow(jobMarker);
      ended.abort();
      void runner.killJobProcesses(jobMarker);
    }, bound.lookMs);
    timer.unref();
    const stop = () => {
      clearInterval(timer);
      if (entrance !== null) closeSync(entrance);
      bound.release();
    };
    const made = { configured, bound, entrance, ended, stop };
    UNSANDBOXED.set(jobMarker, made);
    return made;
  };
  return {
    ...runner,
    async runProcess(request) {
      const { bound, entrance, ended } = open(request.jobMarker);
      const signal = request.signal ? AbortSignal.any([request.signal, ended.signal]) : ended.signal;
      const bounded: EnteringRequest = {
        ...request,
        argv: isThere(request) ? boundArguments(request.argv, bound) : request.argv,
        signal,
        ...(entrance !== null && { entrance }),
      };
      const result = await runner.runProcess(bounded);
      return ended.signal.aborted ? { ...result, tooMany: { most: bound.most, configured } } : result;
    },
    async killJobProcesses(jobMarker, options) {
      const killed = await runner.killJobProcesses(jobMarker, options);
      UNSANDBOXED.get(jobMarker)?.stop();
      UNSANDBOXED.delete(jobMarker);
      return killed;
    },
  };
}

/** A program that does not exist is not started through a shell: the system's own error says what is missing. */
function isThere({ argv, cwd, env }: ProcessRequest): boolean {
  const [name] = argv;
  const found = name.includes("/") ? findProgram(resolve(cwd, name), "/") : findProgram(name, env.PATH ?? "");
  return found !== null;
}

/** The third descriptor leads into the group; the command itself does not get it. */
function boundArguments(argv: ProcessRequest["argv"], bound: ProcessBound): ProcessRequest["argv"] {
  if (bound.entrance !== null)
    return ["/bin/sh", "-c", 'echo 0 >&3; exec 3>&-; exec "$@"', "picoclaw", ...argv];
  if (bound.isWatched) return standBehind(argv);
  return bound.mostOfUser === null ? argv : withLimits(argv, { memory: 0, processes: bound.mostOfUser });
}

/** The arguments of a sandbox; its group it is moved into while it starts. */
export function boundSandbox(
  argv: ProcessRequest["argv"],
  { isWatched }: Pick<ProcessBound, "isWatched">,
): ProcessRequest["argv"] {
  return isWatched ? standBehind(argv) : argv;
}

/** A tree that still grows after this many looks is not a sandbox waiting for its first command. */
const MOST_LOOKS = 10;

/**
 * Moves a sandbox into its group. The kernel waits for all processors before it moves a process (some 15 ms), and the
 * sandbox takes longer than that to start: so the move begins at once, and `finish` moves what the sandbox has started
 * meanwhile. To be finished before the first command runs; what a process starts later is in its group. Never rejects:
 * a sandbox that ended while it started has nothing left to bound. The group may be removed once `begun` resolves.
 */
export function enterGroup({ entrance }: Pick<ProcessBound, "entrance">, pid: number) {
  if (entrance === null) return { begun: Promise.resolve(), finish: async () => {} };
  const move = (moved: number) => writeFile(entrance, String(moved)).catch(() => {});
  const moveOthers = async (): Promise<boolean> => {
    const inside = await readFile(entrance, "utf8").catch(() => null);
    if (inside === null) return false;
    const known = new Set(inside.split("\n"));
    const outside = listTree(pid).filter((one) => !known.has(String(one)));
    for (const one of outside) await move(one);
    return outside.length > 0;
  };
  // One move right after another is cheap.
  const begun = move(pid).then(moveOthers);
  return {
    begun,
    async finish(): Promise<void> {
      await begun;
      for (let looks = 0; looks < MOST_LOOKS && (await moveOthers()); looks++);
    },
  };
}

/** At the lowest priority; as it is where there is no program that sets one. */
function standBehind(argv: ProcessRequest["argv"]): ProcessRequest["argv"] {
  const script = 'command -v nice > /dev/null && exec nice -n 19 "$@"; exec "$@"';
  return ["/bin/sh", "-c", script, "picoclaw", ...argv];
}

/** Why a job without a sandbox was ended; null where it was not. To be asked before its processes are killed. */
export function findReachedBound(jobMarker: string): LimitReached | null {
  const job = UNSANDBOXED.get(jobMarker);
  if (job === undefined || !job.ended.signal.aborted) return null;
  return new LimitReached({ what: "processes", most: job.bound.most, configured: job.configured });
}
