import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../src/infrastructure/engine/walk-folder.ts";

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
