import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { attemptOr } from "../../domain/platform/error-text.ts";

export async function readProcessTable(): Promise<readonly ProcessEntry[]> {
  if (process.platform === "linux") return [...readLinuxProcesses()];
  if (process.platform === "darwin") return readDarwinProcesses();
  return [];
}

/** Signals exactly this process: a pid that another process has taken over since is left alone. */
export function signalProcess(entry: ProcessEntry, signal: NodeJS.Signals): void {
  if (process.platform === "linux" && readLinuxStartTime(entry.pid) !== entry.startedAt) return;
  // If it has ended, or may not be signalled, the next look at the table shows which.
  attemptOr(false, () => process.kill(entry.pid, signal));
}

export function maySignal(pid: number): boolean {
  return attemptOr(false, () => process.kill(pid, 0));
}

/** One process at one moment. `pid` and `startedAt` together never name two processes. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly group: number;
  readonly session: number;
  /** Comparable within one machine: ticks since boot (Linux), seconds since 1970 (macOS). */
  readonly startedAt: number;
  /** Dead, waiting to be buried by its parent. */
  readonly zombie: boolean;
  readonly tag: () => bigint | undefined;
  readonly hasVariable: (name: string, value: string) => boolean;
  readonly command: () => string;
}

/** macOS has no `/proc`: one `ps` for the tree, one for environments of own processes. The process group is used as the session. */
async function readDarwinProcesses(): Promise<readonly ProcessEntry[]> {
  const [tree, environments] = await Promise.all([
    ps(["-axww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]),
    ps(["-axwwE", "-o", "pid=,command="]),
  ]);
  return parseDarwinProcesses(tree, environments);
}

/** `  501     1   501 S    Mon Nov  3 09:12:44 2025     /bin/sleep 100` */
const TREE_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(.*)$/;

export function parseDarwinProcesses(tree: string, environments: string): readonly ProcessEntry[] {
  const withEnvironment = new Map<number, string>();
  for (const line of environments.split("\n")) withEnvironment.set(Number.parseInt(line, 10), `${line} `);
  return tree.split("\n").flatMap((line) => {
    const [, pid, parent, group, state, started, command] = TREE_LINE.exec(line) ?? [];
    if (!pid || !parent || !group || !started) return [];
    return {
      pid: Number(pid),
      parentPid: Number(parent),
      group: Number(group),
      session: Number(group),
      startedAt: Date.parse(started) / 1000,
      zombie: state?.startsWith("Z") ?? false,
      tag: () => undefined,
      hasVariable: (name: string, value: string) =>
        withEnvironment.get(Number(pid))?.includes(` ${name}=${value} `) ?? false,
      command: () => command ?? "",
    };
  });
}

async function ps(args: readonly string[]): Promise<string> {
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    const options = { env: { LC_ALL: "C", PATH: "/bin:/usr/bin" }, maxBuffer: 64 * 1024 * 1024 };
    execFile("ps", args, { ...options, timeout: 10_000 }, (_error, stdout) => resolve(stdout));
  });
}

/** `/proc`, read without forking: a full process table cannot stop the killer. Processes from number `first` on come first. */
export function* readLinuxProcesses(first = 0): Generator<ProcessEntry> {
  const pids = readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid));
  for (const pid of [...pids.filter((one) => one >= first), ...pids.filter((one) => one < first)]) {
    const stat = readStat(pid);
    if (stat) yield { ...stat, ...detailsOf(pid) };
  }
}

export function readLinuxStartTime(pid: number): number | undefined {
  return readStat(pid)?.startedAt;
}

/** The processor time and memory of a process, and whether it is stopped; null where it is gone or there is no /proc. */
export function readProcessUsage(pid: number) {
  const text = readProc(pid, "stat");
  if (text === undefined) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system, pages] = [11, 12, 21].map((index) => Number(fields[index])) as [
    number,
    number,
    number,
  ];
  return {
    cpuMs: (user + system) * TICK_MS,
    residentBytes: pages * PAGE_BYTES,
    isStopped: /^[Tt]$/.test(fields[0] ?? ""),
  };
}

/** Of `/proc`, on every Linux that the runtime runs on; pages of 16 or 64 KiB would only make the limit of memory larger. */
const [TICK_MS, PAGE_BYTES] = [10, 4096];

/** The command name in `stat` may hold blanks and parentheses: the fields count from the last one. */
export function parseStat(text: string) {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const number = (index: number) => Number(fields[index]);
  const threads = number(17);
  return {
    pid: Number.parseInt(text, 10),
    parentPid: number(1),
    group: number(2),
    session: number(3),
    startedAt: number(19),
    // A dead first thread whose siblings live on also shows as Z.
    zombie: /^[ZXx]$/.test(fields[0] ?? "") && threads <= 1,
  };
}

export function parseTag(limits: string): bigint | undefined {
  const soft = /^Max realtime timeout\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : BigInt(soft);
}

function detailsOf(pid: number): Pick<ProcessEntry, "tag" | "hasVariable" | "command"> {
  return {
    tag: () => parseTag(readProc(pid, "limits") ?? ""),
    hasVariable: (name, value) => `\0${readProc(pid, "environ") ?? ""}\0`.includes(`\0${name}=${value}\0`),
    command: () => {
      const line = (readProc(pid, "cmdline") ?? "").replaceAll("\0", " ").trim();
      return line || `[${(readProc(pid, "comm") ?? "?").trim()}]`;
    },
  };
}

function readStat(pid: number) {
  const text = readProc(pid, "stat");
  return text ? parseStat(text) : undefined;
}

/** Undefined when the process is gone, or another user's. */
function readProc(pid: number, file: string): string | undefined {
  return attemptOr(undefined, () => readFileSync(`/proc/${pid}/${file}`, "utf8"));
}

/** Signal 0 asks whether a process exists; a refusal means that it does. A dead one keeps its number where no parent reaps it. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Dead, and not yet reaped by its parent. False where there is no /proc. */
export function isZombie(pid: number): boolean {
  return readStat(pid)?.zombie ?? false;
}

/** `elsewhere`: its number is of another namespace and proves nothing here. */
export type Life = "lives" | "gone" | "elsewhere";

/** Where and when a process was started: numbers are reused, and in a restarted container the same program has the same one. */
export function processBirth(pid: number): string {
  return `${processNamespace()} ${readLinuxStartTime(pid) ?? "?"}`;
}

/** Whether the process of that number is still the one that was born so. Without a birth the number has to do. */
export function processLife(pid: number, birth: string | undefined): Life {
  if (birth === undefined) return isAlive(pid) ? "lives" : "gone";
  const [place, started] = birth.split(" ");
  if (place !== processNamespace()) return "elsewhere";
  if (!isAlive(pid)) return "gone";
  return started === "?" || String(readLinuxStartTime(pid)) === started ? "lives" : "gone";
}

/** Of a process that used a folder of this machine: an earlier boot ended it, one in another container may live. */
export function mayLive(pid: number, birth: string | undefined): boolean {
  const life = processLife(pid, birth);
  const bootOf = (place = "") => place.split("/")[0];
  return life === "elsewhere" ? bootOf(birth) === bootOf(processNamespace()) : life === "lives";
}

/** Where process numbers mean the same: one boot and one pid namespace, or one host where there is no /proc. */
function processNamespace(): string {
  return attemptOr(hostname(), () => {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  });
}

/** Names by which any process of the same machine can find out whether the process that made them still runs. */
export type OwnerNames = ReturnType<typeof createOwnerNames>;

/** `PLACE PID STARTED RUN.COUNT`; earlier versions left out when the process was started. */
export function createOwnerNames(pid: number) {
  const [place = "", started] = processBirth(pid).split(" ");
  const count = { made: 0 };
  const run = Math.random().toString(36).slice(2, 8);
  return {
    /** Where process numbers mean the same: one boot and one pid namespace. */
    place,
    next(): string {
      count.made += 1;
      return `${place} ${pid} ${started} ${run}.${count.made}`;
    },
    /** True only if it is certain; never for a process of another machine or container. */
    isGone(owner: string): boolean {
      const [ownerPlace, ownerPid, ...rest] = owner.split(" ");
      const birth = `${ownerPlace} ${rest.length > 1 ? rest[0] : "?"}`;
      return processLife(Number(ownerPid), birth) === "gone";
    },
  };
}
