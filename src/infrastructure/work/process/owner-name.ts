import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isAlive } from "./is-alive.ts";

/** Names that tell, from any process of the same machine, whether the one that made them still runs. */
export interface OwnerNames {
  /** Where process numbers mean the same: one boot and one pid namespace. */
  readonly place: string;
  next(): string;
  /** True only when it is sure: of another machine or container nobody here can tell. */
  isGone(owner: string): boolean;
}

export function createOwnerNames(pid: number): OwnerNames {
  const place = placeOfProcesses();
  const count = { made: 0 };
  const run = Math.random().toString(36).slice(2, 8);
  return {
    place,
    next() {
      count.made += 1;
      return `${place} ${pid} ${run}.${count.made}`;
    },
    isGone(owner) {
      const [ownerPlace, ownerPid] = owner.split(" ");
      return ownerPlace === place && !isAlive(Number(ownerPid));
    },
  };
}

/** Where process numbers mean the same: one boot and one pid namespace, or one host where there is no /proc. */
function placeOfProcesses(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}
