import { readdirSync, readFileSync } from "node:fs";

/** What a process has used of the processors so far; a tick of Linux is ten milliseconds. */
export function processorMs(pid: number | string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

/** The same of a database's connections that are open now, without those of its server's own processes. */
export function databaseMs(url: string): number {
  const name = ` ${new URL(url).pathname.slice(1)} `;
  const isOf = (pid: string) => {
    try {
      const title = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return title.startsWith("postgres:") && title.includes(name);
    } catch {
      return false;
    }
  };
  const pids = readdirSync("/proc").filter((each) => /^\d+$/.test(each) && isOf(each));
  return pids.reduce((sum, pid) => sum + processorMs(pid), 0);
}
