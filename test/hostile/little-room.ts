import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  countThreadsOfUser,
  findControlGroup,
  openBoundedGroup,
} from "../../src/infrastructure/platform/control-groups.ts";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { PROGRAM } from "../e2e/cli-kit.ts";

/** Whether this user can have a control group with an exact number of processes. */
export const hasExactRooms = process.getuid?.() === 0 && tryGroup();

/** The program with so many more processes than are there already: as root in a control group, else by the user's limit. */
export function openLittleRoom(processes: number): { readonly program: string; close(): void } {
  const group = hasExactRooms ? makeGroup(processes) : null;
  const most = countThreadsOfUser(process.getuid?.() ?? 0) + processes;
  const enter = group === null ? `ulimit -u ${most}` : `echo 0 > ${join(group.folder, "cgroup.procs")}`;
  return wrapProgram(enter, () => group && endGroup(group.folder));
}

function wrapProgram(enter: string, end: () => void): { readonly program: string; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-room-"));
  const program = join(folder, "picoclaw");
  writeFileSync(program, `#!/bin/bash\n${enter} || exit 99\nexec ${PROGRAM} "$@"\n`, { mode: 0o755 });
  return {
    program,
    close() {
      removeTree(folder);
      end();
    },
  };
}

/** The program with so much memory; null where this user cannot have a control group for it. */
export function openLittleMemory(bytes: number): { readonly program: string; close(): void } | null {
  const own = findControlGroup("memory");
  if (own === null || process.getuid?.() !== 0) return null;
  const folder = join(own.folder, `picoclaw-test-${crypto.randomUUID()}`);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, own.unified ? "memory.max" : "memory.limit_in_bytes"), String(bytes));
  } catch {
    if (existsSync(folder)) rmdirSync(folder);
    return null;
  }
  return wrapProgram(`echo 0 > ${join(folder, "cgroup.procs")}`, () => endGroup(folder));
}

function makeGroup(processes: number) {
  const pids = findControlGroup("pids");
  return pids && openBoundedGroup(pids, `picoclaw-test-${crypto.randomUUID()}`, String(processes));
}

function tryGroup(): boolean {
  return makeGroup(8)?.remove() ?? false;
}

/** Kills what is left in a group and in those below it, and removes them. */
function endGroup(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) endGroup(join(folder, entry.name));
  while (existsSync(folder)) {
    for (const pid of readProcesses(folder)) signal(pid);
    try {
      rmdirSync(folder);
    } catch {
      // The last of them are still being taken apart by the kernel.
      Bun.sleepSync(5);
    }
  }
}

function readProcesses(folder: string): number[] {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
