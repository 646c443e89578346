import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { mayLive, processBirth } from "./process-birth.ts";
import { isTrusted } from "./trusted-folder.ts";

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
