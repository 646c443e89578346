import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";

/** `pid` and `startedAt` together never name two processes of one boot. */
export interface Holder {
  readonly pid: number;
  readonly startedAt: string;
}

export interface HolderWatch {
  readonly folder: string;
  /** How long a holder may stand still before it is taken for dead. */
  readonly deadAfterMs: number;
  readonly clock: () => number;
}

const LOOK_MS = 500;

/**
 * Whoever waits for a folder's lock calls this between its tries. A holder that was stopped (SIGSTOP) keeps the kernel's
 * lock for ever, and would go on with its swap when it is continued, over whatever was done since: it is killed before
 * the lock is taken. What it had begun the next job completes. Where there is no /proc nobody can tell.
 */
export function createHolderWatch({ folder, deadAfterMs, clock }: HolderWatch): () => void {
  const seen: { at: number; holder: Holder | null; since: number } = {
    at: Number.NEGATIVE_INFINITY,
    holder: null,
    since: 0,
  };
  return () => {
    const now = clock();
    if (now - seen.at < LOOK_MS) return;
    seen.at = now;
    const holder = findStoppedHolder(folder);
    if (holder === null || !isSame(holder, seen.holder)) {
      seen.holder = holder;
      seen.since = now;
      return;
    }
    if (now - seen.since >= deadAfterMs) end(holder);
  };
}

/** The process that holds the lock of a folder while it is stopped. */
export function findStoppedHolder(folder: string): Holder | null {
  try {
    const path = realpathSync(folder);
    const locks = readFileSync("/proc/locks", "utf8").matchAll(/FLOCK\s+\S+\s+WRITE\s+(\d+)/g);
    for (const pid of new Set([...locks].map(([, number]) => Number(number)))) {
      const startedAt = pid === 0 ? null : stoppedSince(pid);
      if (startedAt !== null && holdsLock(pid, path)) return { pid, startedAt };
    }
  } catch {
    // Nothing of it can be read here.
  }
  return null;
}

/** When a process that is stopped was started, in ticks since the boot; null when it runs or is not there. */
function stoppedSince(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "T" ? (fields[19] ?? null) : null;
  } catch {
    return null;
  }
}

/** Whether one of its open files is this folder, and locked. */
function holdsLock(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      (fd) =>
        readlinkSync(`/proc/${pid}/fd/${fd}`) === path &&
        /^lock:.*FLOCK.*WRITE/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8")),
    );
  } catch {
    return false;
  }
}

function end(holder: Holder): void {
  try {
    if (stoppedSince(holder.pid) === holder.startedAt) process.kill(holder.pid, "SIGKILL");
  } catch {
    // Gone since, or not ours to end: the lock says which.
  }
}

function isSame(one: Holder, other: Holder | null): boolean {
  return one.pid === other?.pid && one.startedAt === other.startedAt;
}
