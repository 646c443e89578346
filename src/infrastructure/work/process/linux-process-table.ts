import { readdirSync, readFileSync } from "node:fs";
import type { ProcessEntry } from "./process-entry.ts";

/** `/proc`, read in one go and without forking: a full process table cannot stop the killer. */
export function readLinuxProcesses(): readonly ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined;
    if (stat) entries.push({ ...stat, ...detailsOf(pid) });
  }
  return entries;
}

export function sameLinuxProcess(entry: Pick<ProcessEntry, "pid" | "startedAt">): boolean {
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
