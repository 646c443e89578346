import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What labels cannot say because it changes: one small file per container, whose time is that of the last use. */
export interface Lease {
  readonly container: string;
  readonly name: string;
  readonly taskId: string;
  readonly lease: "process" | "detached";
  readonly owner: string;
  readonly claim?: string;
  /** `ended`: to be removed by whoever comes next, since removing it failed. */
  readonly state: "preparing" | "ready" | "ended";
  readonly reason?: string;
}

export interface Leases {
  readonly write: (lease: Lease) => void;
  readonly read: (container: string) => (Lease & { readonly usedAtMs: number }) | undefined;
  readonly touch: (container: string, nowMs: number) => void;
  readonly remove: (container: string) => void;
}

/** Keyed by the engine's own id. A lease that cannot be kept or read is none: labels decide then. */
export function createLeases(folder: string): Leases {
  const fileOf = (container: string) => join(folder, `${container}.json`);
  return {
    write(lease) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const fresh = `${fileOf(lease.container)}.new`;
        writeFileSync(fresh, `${JSON.stringify(lease)}\n`, { mode: 0o600 });
        renameSync(fresh, fileOf(lease.container));
      } catch {
        // Labels decide.
      }
    },
    read(container) {
      try {
        const lease = JSON.parse(readFileSync(fileOf(container), "utf8")) as Lease;
        return { ...lease, usedAtMs: statSync(fileOf(container)).mtimeMs };
      } catch {
        return undefined;
      }
    },
    touch(container, nowMs) {
      try {
        utimesSync(fileOf(container), nowMs / 1000, nowMs / 1000);
      } catch {
        // Made by an older process, or its lease is gone.
      }
    },
    remove(container) {
      rmSync(fileOf(container), { force: true });
    },
  };
}
