import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { processBirth } from "./process-birth.ts";
import { type HolderRecord, type HolderRecords, type Inode, inodeOf } from "./holder-records.ts";

export interface HolderWatch {
  /** The open folder that is waited for. */
  readonly fd: number;
  readonly holders: HolderRecords;
  /** How long a holder may stand still before it is taken for dead. */
  readonly deadAfterMs: number;
  readonly clock: () => number;
  readonly onEnded: (pid: number) => void;
}

const LOOK_MS = 500;
const NAMESPACES = ["pid", "mnt", "user"] as const;

/**
 * Whoever waits for a folder's lock calls this between its tries. A PicoClaw that was stopped (SIGSTOP, Ctrl-Z) while it
 * held the lock keeps it for ever, and would go on with its swap when it is continued, over whatever was done since: it
 * is killed before the lock is taken. What it had begun is completed by whoever has the lock next. Any other program
 * that locks the folder is waited for, as long as a job waits. Where there is no /proc nobody can tell.
 */
export function createHolderWatch(watch: HolderWatch): () => void {
  const { fd, holders, deadAfterMs, clock, onEnded } = watch;
  const lock = inodeOf(fd);
  const seen: { at: number; holder: HolderRecord | null; since: number } = {
    at: Number.NEGATIVE_INFINITY,
    holder: null,
    since: 0,
  };
  return () => {
    const now = clock();
    if (now - seen.at < LOOK_MS) return;
    seen.at = now;
    const holder = findStoppedHolder(lock, holders);
    if (holder === null || holder.pid !== seen.holder?.pid || holder.birth !== seen.holder.birth) {
      seen.holder = holder;
      seen.since = now;
      return;
    }
    if (now - seen.since >= deadAfterMs && killHolder(holder.pid)) onEnded(holder.pid);
  };
}

/** The process that wrote itself down as holder of a lock, and by all that the kernel says is it, and is stopped. */
export function findStoppedHolder(lock: Inode, holders: HolderRecords): HolderRecord | null {
  return (
    holders
      .of(lock)
      .find(
        ({ pid, birth }) =>
          processBirth(pid) === birth && isStopped(pid) && isLikeUs(pid) && holdsLock(pid, lock),
      ) ?? null
  );
}

function isStopped(pid: number): boolean {
  return isTrueIfReadable(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold anything.
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T ");
  });
}

/** Of the same user, and in the same namespaces. */
function isLikeUs(pid: number): boolean {
  return isTrueIfReadable(
    () =>
      statSync(`/proc/${pid}`).uid === process.geteuid?.() &&
      NAMESPACES.every(
        (name) => readlinkSync(`/proc/${pid}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`),
      ),
  );
}

/** Whether one of its open files is this folder, and locked. A path says nothing: it leads elsewhere in a container. */
export function holdsLock(pid: number, lock: Inode): boolean {
  return isTrueIfReadable(() =>
    readdirSync(`/proc/${pid}/fd`).some((fd) =>
      isTrueIfReadable(() => {
        const { dev, ino } = statSync(`/proc/${pid}/fd/${fd}`, { bigint: true });
        return (
          String(dev) === lock.device &&
          String(ino) === lock.inode &&
          /^lock:.*FLOCK.*WRITE/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"))
        );
      }),
    ),
  );
}

function killHolder(pid: number): boolean {
  // Gone since, or not ours to end: the lock says which.
  return isTrueIfReadable(() => process.kill(pid, "SIGKILL"));
}

/** What cannot be read here is not so. */
function isTrueIfReadable(read: () => boolean): boolean {
  try {
    return read();
  } catch {
    return false;
  }
}
