import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isAlive } from "./is-alive.ts";
import { readLinuxStartTime } from "./process-table.ts";

/** `elsewhere`: its number means nothing here, so nobody can tell by it. */
export type Life = "lives" | "gone" | "elsewhere";

/**
 * Where and when a process was born. A number alone is given out again, and in a container that was started anew the
 * same program has the same number, often in a namespace of the same name: only the moment tells them apart.
 */
export function processBirth(pid: number): string {
  return `${processNamespace()} ${readLinuxStartTime(pid) ?? "?"}`;
}

/** Whether the process of that number is still the one that was born so. Without a birth the number has to do. */
export function processLife(pid: number, birth: string | undefined): Life {
  if (birth === undefined) return isAlive(pid) ? "lives" : "gone";
  const [place, started] = birth.split(" ");
  if (place !== processNamespace()) return "elsewhere";
  if (!isAlive(pid)) return "gone";
  return started === "?" || String(readLinuxStartTime(pid)) === started ? "lives" : "gone";
}

/** Of a process that used a folder of this machine: an earlier boot ended it, one in another container may live. */
export function mayLive(pid: number, birth: string | undefined): boolean {
  const life = processLife(pid, birth);
  const bootOf = (place = "") => place.split("/")[0];
  return life === "elsewhere" ? bootOf(birth) === bootOf(processNamespace()) : life === "lives";
}

/** Where process numbers mean the same: one boot and one pid namespace, or one host where there is no /proc. */
function processNamespace(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}
