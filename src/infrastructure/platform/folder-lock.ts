import {
  type BigIntStats,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { flock, tryFlock } from "./libc.ts";

/**
 * Holds the kernel locks of folders while `use` runs. They are on the folders themselves, so every process of every user sees them,
 * and end with their process. One order of taking them prevents deadlocks. A suspended holder is waited for: the message names it,
 * the user decides.
 */
export async function withFolderLocks<T>(
  folders: readonly string[],
  { timeoutMs }: { readonly timeoutMs: number },
  use: () => Promise<T> | T,
): Promise<T | "busy"> {
  const held: (() => void)[] = [];
  const deadline = performance.now() + timeoutMs;
  try {
    for (const folder of [...new Set(folders)].sort()) {
      const fd = openSync(folder, "r");
      held.push(() => closeSync(fd));
      const locked = await flock(fd, Math.max(0, deadline - performance.now()));
      if (!locked.ok && locked.reason === "timed-out") return "busy";
    }
    return await use();
  } finally {
    for (const release of held) release();
  }
}

/** Takes the lock of a file, made where missing, or of an existing folder; null while it is held. It ends with the process. */
export function takeLock(path: string, kind: "file" | "folder"): { release(): void } | null {
  const descriptor = openSync(path, kind === "file" ? "a" : "r", 0o600);
  if (tryFlock(descriptor).ok) return { release: () => closeSync(descriptor) };
  closeSync(descriptor);
  return null;
}

/** Whether a process holds the lock of a file; false for one that does not exist. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  // Opened as a folder is: it may not be writable.
  const lock = takeLock(path, "folder");
  lock?.release();
  return lock === null;
}

/** The holder of a folder's lock, as `flock (pid 12)`; null where that cannot be seen, or no process holds it now. */
export function nameLockHolder(folder: string): string | null {
  return attemptOr(null, () => {
    const lock = statSync(folder, { bigint: true });
    const locks = readFileSync("/proc/locks", "utf8").matchAll(/FLOCK\s+\S+\s+WRITE\s+(\d+)/g);
    const pids = new Set([...locks].map(([, pid]) => Number(pid)));
    const pid = [...pids].find((one) => one !== process.pid && one > 0 && holdsLock(one, lock));
    return pid === undefined ? null : `${readFileSync(`/proc/${pid}/comm`, "utf8").trim()} (pid ${pid})`;
  });
}

/** Whether a process of this machine holds the lock of a folder; false where that cannot be seen. */
export function holdsFolderLock(pid: number, folder: string): boolean {
  return attemptOr(false, () => holdsLock(pid, statSync(folder, { bigint: true })));
}

/** Whether one of its open files is this folder, and locked. A path says nothing: it leads elsewhere in a container. */
function holdsLock(pid: number, lock: BigIntStats): boolean {
  return attemptOr(false, () =>
    readdirSync(`/proc/${pid}/fd`).some((fd) =>
      attemptOr(false, () => {
        const { dev, ino } = statSync(`/proc/${pid}/fd/${fd}`, { bigint: true });
        return (
          dev === lock.dev &&
          ino === lock.ino &&
          /^lock:.*FLOCK.*WRITE/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"))
        );
      }),
    ),
  );
}
