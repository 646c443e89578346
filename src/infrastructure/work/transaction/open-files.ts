import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface OpenFile {
  readonly path: string;
  readonly process: string;
}

const WRITABLE = 0o1 | 0o2;

/**
 * Which of the given absolute paths (or, for folders, anything below them) another process holds open for
 * writing. Replacing such a file by rename would cut that process off from it. Linux; elsewhere nothing is seen.
 */
export function openForWriting(paths: ReadonlySet<string>, folders: readonly string[]): OpenFile[] {
  if (process.platform !== "linux" || (paths.size === 0 && folders.length === 0)) return [];
  const found: OpenFile[] = [];
  const prefixes = folders.map((folder) => `${folder}/`);
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    for (const fd of descriptors(pid)) {
      const target = targetOf(`/proc/${pid}/fd/${fd}`);
      if (target === null || !(paths.has(target) || prefixes.some((prefix) => target.startsWith(prefix))))
        continue;
      if (isWritable(pid, fd)) found.push({ path: target, process: `${commandName(pid)} (pid ${pid})` });
    }
  }
  return found;
}

function descriptors(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

function isWritable(pid: string, fd: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & WRITABLE) !== 0;
  } catch {
    return false;
  }
}

function commandName(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "?";
  }
}
