import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The processor time of a process so far; a tick of Linux is ten milliseconds. */
export function processorMs(pid: number | string): number {
  return ticks(pid, [11, 12]) * 10;
}

/** The same of a Postgres on a socket of this machine: of its processes that live and of those that have ended. */
export function postgresMs(url: string): number {
  const folder = new URL(url).searchParams.get("host") ?? "";
  const server = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0] ?? "";
  const children = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === server);
  return (
    (ticks(server, [11, 12, 13, 14]) + children.reduce((sum, pid) => sum + ticks(pid, [11, 12]), 0)) * 10
  );
}

const parentOf = (pid: string) => fieldsOf(pid)[1];

function ticks(pid: number | string, fields: readonly number[]): number {
  const all = fieldsOf(pid);
  return fields.reduce((sum, field) => sum + Number(all[field] ?? 0), 0);
}

/** From the state on; the name before it may hold anything. */
function fieldsOf(pid: number | string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  } catch {
    return [];
  }
}
