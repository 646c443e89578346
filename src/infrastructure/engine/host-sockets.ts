import { lstatSync, readFileSync } from "node:fs";
import { isInside } from "./git-roots.ts";

/** Sockets of this machine that a process could reach by path, but for those below the given folders. */
export function findHostSockets(folders: readonly string[]): string[] {
  const paths = new Set<string>();
  for (const line of readTable().split("\n")) {
    const path = /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1];
    if (path !== undefined && !folders.some((folder) => isInside(folder, path)) && isSocket(path))
      paths.add(path);
  }
  return [...paths];
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}

function readTable(): string {
  try {
    return readFileSync("/proc/net/unix", "utf8");
  } catch {
    return "";
  }
}
