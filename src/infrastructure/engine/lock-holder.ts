import { readFileSync, statSync } from "node:fs";
import { holdsLock } from "./folder-lock.ts";

/** Who holds the lock of a folder, as `flock (pid 12)`; null where that cannot be seen, or nobody does by now. */
export function nameLockHolder(folder: string): string | null {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    const lock = { device: String(dev), inode: String(ino) };
    const locks = readFileSync("/proc/locks", "utf8").matchAll(/FLOCK\s+\S+\s+WRITE\s+(\d+)/g);
    const pids = new Set([...locks].map(([, pid]) => Number(pid)));
    const pid = [...pids].find((one) => one !== process.pid && one > 0 && holdsLock(one, lock));
    return pid === undefined ? null : `${readFileSync(`/proc/${pid}/comm`, "utf8").trim()} (pid ${pid})`;
  } catch {
    return null;
  }
}
