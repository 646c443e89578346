/**
 * What a test file leaves on the machine: processes, mounts, control groups, listening ports, temporary folders. A run of tests
 * has a temporary folder of its own, and the name of that folder is its mark: a process is the run's if its environment, its
 * arguments or its working folder names it, or if one of the run's processes started it.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { removeLeftGroups } from "../src/infrastructure/platform/control-groups.ts";
import { removeTree } from "../src/infrastructure/platform/remove-tree.ts";

const BASE = process.env.TMPDIR || "/tmp";
/** The temporary folders of one `npm test` begin with this. */
const prefixOf = (run: string) => `pt${run}-`;
/** The file that a process of the run is at; the process may be killed. */
const CURRENT = ".test-file";
/** Folders that a test leaves to the run. */
const KEPT = "kept-";
/** Of Node itself, which keeps its compiled code there since version 22 where npm asks for it. */
const OF_NODE = "node-compile-cache";
const GRACE_MS = 2_500;
const GROUPS_GRACE_MS = 1_000;

interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Makes the folder of this process of the run, and sends all temporary files of its tests there. */
export function openTestFolder(): string {
  mkdirSync(BASE, { recursive: true });
  const folder = mkdtempSync(join(BASE, prefixOf(process.env.PICOCLAW_TEST_RUN ?? "")));
  // Tests of root run programs of other users in it, as in the system's own.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return folder;
}

/** A folder for a test that is removed with the run: files of one process may share it. */
export function makeTestFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `${KEPT}${name}-`));
}

export function noteTestFile(folder: string, file: string): void {
  writeFileSync(join(folder, CURRENT), file);
}

/**
 * Lines about what is left of this folder's run. Processes get a moment to end; those that do not are killed, and folders are
 * removed, so that the next file does not leave them once more.
 */
export async function clearLeftovers(folder: string): Promise<string[]> {
  const processes = await processesEnded(folder, GRACE_MS);
  const left = processes.map(({ pid, command }) => `process ${pid}: ${command}`);
  for (const { pid } of processes) kill(pid);
  const mounts = findMounts(folder);
  left.push(...mounts.map((point) => `mount ${point}`));
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (name === CURRENT || name === OF_NODE || name.startsWith(KEPT) || entry === undefined) continue;
    // A removal would reach through the mount.
    if (mounts.some((point) => `${point}/`.startsWith(`${path}/`))) continue;
    const kind = entry.isDirectory() ? "folder" : entry.isSocket() ? "socket" : "file";
    left.push(`${kind} ${name}${entry.isDirectory() ? ` (${listSome(path)})` : ""}`);
    removeTree(path);
  }
  return left;
}

/** Waits until no process of the folder is left; those that are still there after `ms`. */
export async function processesEnded(folder: string, ms = 10_000): Promise<readonly FoundProcess[]> {
  const end = performance.now() + ms;
  let processes = findProcesses(folder);
  while (processes.length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    processes = findProcesses(folder);
  }
  return processes;
}

/** Some of what a folder holds: often this says who wrote there last. */
function listSome(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.length === 0 ? "empty" : names.slice(0, 6).join(", ");
}

/** The last look at this process: what it listens on itself, and its own control groups. */
export async function findOwnLeftovers(): Promise<string[]> {
  if (process.platform !== "linux") return [];
  const end = performance.now() + GROUPS_GRACE_MS;
  const find = () => findGroups((pid) => pid === process.pid);
  while (find().length > 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const sockets = new Set(["tcp", "tcp6"].flatMap((table) => listeningSockets(`/proc/self/net/${table}`)));
  const ports = readLinks("/proc/self/fd").filter((target) => sockets.has(target));
  return [...ports.map((socket) => `listening port, ${socket}`), ...find()];
}

/** After `npm test`: what its processes left, also those that were killed. Each line names the test file. */
export async function clearRun(run: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of readdirSync(BASE).filter((entry) => entry.startsWith(prefixOf(run)))) {
    const folder = join(BASE, name);
    const file = readText(join(folder, CURRENT)) || "a test process";
    lines.push(...(await clearLeftovers(folder)).map((line) => `${file} left ${line}`));
    removeTree(folder);
  }
  // A program that was killed leaves the group of its jobs, empty, to the next one.
  for (const place of findGroupPlaces()) removeLeftGroups(place, (name) => !isRunning(ownerOf(name)));
  return lines;
}

function findProcesses(folder: string): FoundProcess[] {
  if (process.platform !== "linux") return [];
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const found = new Map<number, FoundProcess>();
  const marked = new Set<number>();
  for (const pid of all) {
    const stat = readText(`/proc/${pid}/stat`);
    const [state = "", parent = "0"] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "" || state === "Z" || state === "X") continue;
    const command = readText(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
    found.set(pid, { pid, parent: Number(parent), command: command.slice(0, 300) });
    const texts = [command, readText(`/proc/${pid}/environ`), readLink(`/proc/${pid}/cwd`)];
    if (texts.some((text) => text.includes(folder))) marked.add(pid);
  }
  const isOurs = ({ pid, parent }: FoundProcess): boolean => {
    if (pid === process.pid) return false;
    if (marked.has(pid) || parent === process.pid) return true;
    const above = found.get(parent);
    return above !== undefined && above.pid !== 1 && isOurs(above);
  };
  // Not this process, nor those that it was started by: they have the mark from the shell.
  const above = new Set<number>();
  for (let at: number | undefined = process.pid; at !== undefined && at > 0; at = found.get(at)?.parent)
    above.add(at);
  return [...found.values()].filter((one) => !above.has(one.pid) && isOurs(one));
}

function findMounts(folder: string): string[] {
  return readText("/proc/self/mountinfo")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${folder}/`));
}

/** Control groups of jobs, by the process that made them. */
function findGroups(isOwner: (pid: number) => boolean): string[] {
  return findGroupPlaces()
    .flatMap((place) => readdirSync(place).map((name) => join(place, name)))
    .filter((path) => isOwner(ownerOf(basename(path))))
    .map((path) => `control group ${path}`);
}

function findGroupPlaces(): string[] {
  const own = /^\d+:pids:(.*)$|^0::(.*)$/m.exec(readText("/proc/self/cgroup"));
  return ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"]
    .map((top) => join(top, own?.[1] ?? own?.[2] ?? ""))
    .filter((place) => existsSync(place));
}

/** -1 for the groups of others. */
function ownerOf(group: string): number {
  return Number(/^picoclaw-(\d+)$/.exec(group)?.[1] ?? -1);
}

function isRunning(pid: number): boolean {
  return pid < 0 || existsSync(`/proc/${pid}`);
}

const LISTENS = "0A";

function listeningSockets(table: string): string[] {
  return readText(table)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTENS)
    .map((fields) => `socket:[${fields[9]}]`);
}

function readLinks(folder: string): string[] {
  return readdirSync(folder).map((name) => readLink(join(folder, name)));
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
