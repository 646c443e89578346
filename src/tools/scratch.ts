import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Scratch } from "./tool-context.ts";

/** A folder of its own under the system's temporary folder, readable by nobody else. */
export function openScratch(): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-tool-"));
  return {
    folder,
    write(path, bytes, mode) {
      const absolute = join(folder, path);
      mkdirSync(dirname(absolute), { recursive: true });
      writeFileSync(absolute, bytes);
      if (mode !== undefined) chmodSync(absolute, mode);
    },
    read(path) {
      const stats = lstatSync(join(folder, path), { throwIfNoEntry: false });
      return stats?.isFile() ? { bytes: readFileSync(join(folder, path)), mode: stats.mode & 0o7777 } : null;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
