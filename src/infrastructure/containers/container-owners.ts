import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { ContainerClaim } from "../../application/ports/containers.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isFileLocked } from "../platform/folder-lock.ts";
import { tryFlock } from "../platform/libc.ts";
import { readOrMakeId, replaceFile } from "../platform/text-files.ts";
import { LABEL } from "./container-body.ts";

/** Facts that change, which labels cannot state: one small file per container, whose time is that of the last use. */
export interface Lease {
  readonly container: string;
  readonly name: string;
  readonly taskId: string;
  readonly lease: "process" | "detached";
  readonly owner: string;
  readonly claim?: string;
  /** `ended`: removing it failed, and the next process removes it. */
  readonly state: "preparing" | "ready" | "ended";
  readonly reason?: string;
}

export type Leases = ReturnType<typeof createLeases>;

/** Keyed by the engine's own id. A lease that cannot be kept or read does not count: labels decide then. */
export function createLeases(folder: string) {
  const fileOf = (container: string) => join(folder, `${container}.json`);
  return {
    write(lease: Lease): void {
      attemptOr(undefined, () => replaceFile(fileOf(lease.container), `${JSON.stringify(lease)}\n`));
    },
    read(container: string): (Lease & { readonly usedAtMs: number }) | undefined {
      return attemptOr(undefined, () => {
        const lease = JSON.parse(readFileSync(fileOf(container), "utf8")) as Lease;
        return { ...lease, usedAtMs: statSync(fileOf(container)).mtimeMs };
      });
    },
    touch(container: string, nowMs: number): void {
      // It may be gone, or of an older process.
      attemptOr(undefined, () => utimesSync(fileOf(container), nowMs / 1000, nowMs / 1000));
    },
    remove(container: string): void {
      rmSync(fileOf(container), { force: true });
    },
  };
}

export const claimText = ({ id, fence }: ContainerClaim): string => `${id}:${fence}`;

/** The claim that a container was made for; one that was warm has it in its lease alone. */
export function readClaim(
  labels: Readonly<Record<string, string>>,
  lease: Pick<Lease, "claim"> | undefined,
): ContainerClaim | null {
  const [, id, fence] = /^(.+):(\d+)$/.exec(lease?.claim ?? labels[LABEL.claim] ?? "") ?? [];
  return id === undefined ? null : { id, fence: Number(fence) };
}

/** Whether a container belongs to another claim. A caller without a claim means any container of that name. */
export function isOfAnother(made: ContainerClaim | null, asked: ContainerClaim | undefined): boolean {
  return made !== null && asked !== undefined && claimText(made) !== claimText(asked);
}

/** Whether it was created for a later claim than this one. */
export function isOfSuccessor(made: ContainerClaim | null, asked: ContainerClaim | undefined): boolean {
  return made !== null && made.id === asked?.id && made.fence > asked.fence;
}

/** The maker of a container is alive as long as it holds the lock on its file; the kernel releases it. No clocks, no late heartbeats. */
export type Owners = ReturnType<typeof createOwners>;

export function createOwners({ folder, newId }: { readonly folder: string; readonly newId: () => string }) {
  const state: { held?: { readonly id: string; readonly fd: number } } = {};
  const fileOf = (id: string) => join(folder, `${id}.lock`);
  const isAlive = (id: string): boolean => {
    if (state.held?.id === id) return true;
    return /^[\w-]+$/.test(id) && attemptOr(false, () => isFileLocked(fileOf(id)));
  };
  const known = () =>
    attemptOr([], () => readdirSync(folder))
      .filter((name) => name.endsWith(".lock"))
      .map((name) => name.slice(0, -".lock".length));
  return {
    /** This process. Its lock is taken at the first call. */
    own(): string {
      if (state.held) return state.held.id;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const id = newId();
      // The file is locked before it gets its name, so no other process sees it unlocked.
      const fresh = join(folder, `${id}.new`);
      const fd = openSync(fresh, "wx", 0o600);
      writeSync(fd, `${process.pid}\n`);
      tryFlock(fd);
      renameSync(fresh, fileOf(id));
      state.held = { id, fd };
      return id;
    },
    isAlive,
    hasOthers: () => known().some((id) => id !== state.held?.id && isAlive(id)),
    sweep(): void {
      for (const id of known()) {
        if (!isAlive(id)) attemptOr(undefined, () => rmSync(fileOf(id), { force: true }));
      }
    },
    close(): void {
      if (!state.held) return;
      const { id, fd } = state.held;
      attemptOr(undefined, () => rmSync(fileOf(id), { force: true }));
      closeSync(fd);
      delete state.held;
    },
  };
}

/** This PicoClaw's own name on an engine that others may use too. Made once; two at the same time agree on one. */
export const readInstallationId = (home: string, newId: () => string): string =>
  readOrMakeId(join(home, "installation-id"), newId, (id) => id !== "");
