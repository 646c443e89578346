import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DEAD_AFTER_MS } from "../../domain/store/liveness.ts";
import { flock } from "../platform/libc.ts";
import { isTrusted } from "./job-storage.ts";
import { mayLive, processBirth } from "./process-table.ts";

/** A file or folder as the kernel knows it, whatever path leads there. */
export interface Inode {
  readonly device: string;
  readonly inode: string;
}

/** What a process of PicoClaw writes down of itself before it takes the lock of a folder. */
export interface HolderRecord extends Inode {
  readonly pid: number;
  readonly birth: string;
}

export interface HolderRecords {
  /** Notes this process as one that takes the lock of an open folder. The answer removes the note. Never fails. */
  note(fd: number): () => void;
  /** Who noted itself for that folder and may live. */
  of(lock: Inode): readonly HolderRecord[];
}

const OTHERS_WRITE = 0o022;

/**
 * Files in `holders/` of PicoClaw's home. Only a process that is named there may be ended by another one: so a folder
 * that others can write to counts as empty, and so does a file that this user did not write.
 */
export function createHolderRecords(home: string): HolderRecords {
  const folder = join(home, "holders");

  function records(): { readonly file: string; readonly record: HolderRecord }[] {
    if (!isTrusted(folder, home)) return [];
    return readdirSync(folder).flatMap((name) => {
      const file = join(folder, name);
      const record = readRecord(file);
      if (record === null) return [];
      if (mayLive(record.pid, record.birth)) return [{ file, record }];
      rmSync(file, { force: true });
      return [];
    });
  }

  return {
    note(fd) {
      const { pid } = process;
      const record: HolderRecord = { pid, birth: processBirth(pid), ...inodeOf(fd) };
      const file = join(folder, `${pid}-${crypto.randomUUID()}.json`);
      // Without its note nobody can end this process, which is less than to do no work at all.
      readOrNull(() => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        records();
        if (isTrusted(folder, home))
          writeFileSync(file, `${JSON.stringify(record)}\n`, { flag: "wx", mode: 0o600 });
      });
      return () => void readOrNull(() => rmSync(file, { force: true }));
    },
    of: ({ device, inode }) =>
      (readOrNull(records) ?? [])
        .map(({ record }) => record)
        .filter((record) => record.device === device && record.inode === inode),
  };
}

export function inodeOf(fd: number): Inode {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return { device: String(dev), inode: String(ino) };
}

function readRecord(file: string): HolderRecord | null {
  return readOrNull(() => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      const ours = stats.isFile() && stats.uid === process.geteuid?.() && (stats.mode & OTHERS_WRITE) === 0;
      if (!ours) return null;
      const { pid, birth, device, inode } = JSON.parse(readFileSync(fd, "utf8"));
      const texts = [birth, device, inode].every((field) => typeof field === "string");
      return texts && Number.isSafeInteger(pid) && pid > 1 ? { pid, birth, device, inode } : null;
    } finally {
      closeSync(fd);
    }
  });
}

function readOrNull<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}

interface HolderWatch {
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
function createHolderWatch(watch: HolderWatch): () => void {
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
function holdsLock(pid: number, lock: Inode): boolean {
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

export interface LockOptions {
  readonly timeoutMs: number;
  readonly holders: HolderRecords;
  /** After which a holder that is stopped is ended. */
  readonly deadAfterMs?: number | undefined;
  /** Called with its process number. */
  readonly onEnded?: ((pid: number) => void) | undefined;
}

/**
 * Holds the kernel locks of folders while `use` runs. Each lock is on the folder itself, so every process of every
 * user agrees on it, and it goes with the process that held it. Taken in one order, so that two jobs whose
 * workspaces share a repository wait for each other and never for ever.
 */
export async function withFolderLocks<T>(
  folders: readonly string[],
  { timeoutMs, holders, deadAfterMs = DEAD_AFTER_MS, onEnded = () => {} }: LockOptions,
  use: () => Promise<T> | T,
): Promise<T | "busy"> {
  const held: (() => void)[] = [];
  const deadline = performance.now() + timeoutMs;
  try {
    for (const folder of [...new Set(folders)].sort()) {
      const fd = openSync(folder, "r");
      held.push(() => closeSync(fd));
      // Before the lock: one that is stopped right after it was taken is known, too.
      held.push(holders.note(fd));
      const locked = await flock(fd, "exclusive", {
        timeoutMs: Math.max(0, deadline - performance.now()),
        onBusy: createHolderWatch({ fd, holders, deadAfterMs, clock: () => performance.now(), onEnded }),
      });
      if (!locked.ok && locked.reason === "timed-out") return "busy";
    }
    return await use();
  } finally {
    for (const release of held) release();
  }
}

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
