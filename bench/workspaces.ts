import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../src/infrastructure/platform/remove-tree.ts";

/** A throw-away folder on the disk that holds the system's temporary files. */
export function tempFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `picoclaw-bench-${name}-`));
}

/** `count` small files, 100 to a folder. */
export function fillWorkspace(root: string, count: number): void {
  for (let i = 0; i < count; i++) {
    const folder = join(root, `d${Math.floor(i / 10_000)}`, `f${Math.floor(i / 100)}`);
    if (i % 100 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file${i}.txt`), `file ${i}\nsecond line\n`.repeat(20));
  }
}

/** The remains of an overlay shut out an ordinary user until they are opened. */
export function remove(folder: string): void {
  removeTree(folder);
}

/**
 * For rows that make thousands of files: ext4 without a journal gives no inode out again that was freed in the last minutes,
 * and looks at each of them for every new file. Repeated runs then measure that search.
 */
export function journalNote(folder: string): string {
  try {
    const { dev } = statSync(folder);
    const number = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
    const line = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .find((one) => one.split(" ")[2] === number);
    const device = / - ext4 \/dev\/(\S+)/.exec(line ?? "")?.[1];
    if (device === undefined) return "";
    const hasJournal = /^data=/m.test(readFileSync(`/proc/fs/ext4/${device}/options`, "utf8"));
    return hasJournal ? "" : " (ext4 without a journal: the kernel's search for inodes is in it)";
  } catch {
    return "";
  }
}
