import { readFileSync } from "node:fs";

/** Root of the machine itself, not of a user namespace: only that one may set the attributes of a trusted overlay. */
export function isRealRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    return /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8"));
  } catch {
    return false;
  }
}
