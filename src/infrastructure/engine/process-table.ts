import { readdirSync, readFileSync } from "node:fs";

export async function readProcessTable(): Promise<readonly ProcessEntry[]> {
  if (process.platform === "linux") return readLinuxProcesses();
  if (process.platform === "darwin") return readDarwinProcesses();
  return [];
}

/** Signals exactly this process: a pid that another process has taken over since is left alone. */
export function signalProcess(entry: ProcessEntry, signal: NodeJS.Signals): void {
  if (process.platform === "linux" && !sameLinuxProcess(entry)) return;
  try {
    process.kill(entry.pid, signal);
  } catch {
    // Gone already, or not ours to signal: the next look at the table tells which.
  }
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
  /** The inherited job tag, if any. */
  readonly tag: () => bigint | undefined;
  readonly hasVariable: (name: string, value: string) => boolean;
  readonly command: () => string;
}

/**
 * macOS has no `/proc`: one `ps` for the tree and one for the environments (own processes only).
 * There is no session id; the process group stands for it.
 */
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
    execFile("ps", args, options, (_error, stdout) => resolve(stdout));
  });
}

/** `/proc`, read in one go and without forking: a full process table cannot stop the killer. */
function readLinuxProcesses(): readonly ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined;
    if (stat) entries.push({ ...stat, ...detailsOf(pid) });
  }
  return entries;
}

function sameLinuxProcess(entry: Pick<ProcessEntry, "pid" | "startedAt">): boolean {
  return readStat(entry.pid)?.startedAt === entry.startedAt;
}

export function readLinuxStartTime(pid: number): number | undefined {
  return readStat(pid)?.startedAt;
}

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
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}
