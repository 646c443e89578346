import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { NetworkTraffic } from "../../application/ports/jobs-transaction.ts";
import type { BackgroundProcess, ProcessEnd } from "../../application/ports/sandbox-processes.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { replaceFile } from "../platform/text-files.ts";
import { workspaceId } from "../platform/workspace-storage.ts";

/** A process of this machine, by its number and its birth (`processBirth`). */
export interface BornProcess {
  readonly pid: number;
  readonly birth: string;
}

/** A background process as its file has it. After the start only its keeper writes it, while that lives. */
export interface ProcessRecord
  extends Omit<
    BackgroundProcess,
    "state" | "ports" | "endsWithProgram" | "plantedGit" | "plantedHome" | "traffic"
  > {
  /** Device and inode of the root: another folder in its place is not the workspace. */
  readonly rootIdentity: string;
  readonly hasOwnNetwork: boolean;
  /** Ports outside that lead into a network of its own. */
  readonly openedPorts: readonly number[];
  readonly configFile: string | null;
  readonly logLimitBytes: number;
  /** Between TERM and KILL. */
  readonly graceMs: number;
  /** The program with which it ends. */
  readonly owner: BornProcess | null;
  readonly keeper: BornProcess | null;
  /** It runs: the command was started, and is not over. */
  readonly isUp: boolean;
  /** Files of git directories that appeared since the start, with content that no job may leave there. */
  readonly plantedGit?: readonly string[];
  /** Entries of a home in the folder that appeared since the start, and that programs run or obey. */
  readonly plantedHome?: readonly string[];
  readonly traffic?: NetworkTraffic;
  readonly end: ProcessEnd | null;
}

const RECORD = "process.json";
const LANDED = "landed";

/** The folder of PicoClaw's home with the processes of every workspace. */
export function processesFolder(home: string): string {
  return join(home, "processes");
}

export function workspaceProcessesFolder(home: string, root: string): string {
  return join(processesFolder(home), workspaceId(root));
}

/** Null where there is none, or a crash left half of one. */
export function readProcessRecord(folder: string): ProcessRecord | null {
  return attemptOr(null, () => {
    const record = JSON.parse(readFileSync(join(folder, RECORD), "utf8")) as ProcessRecord;
    return typeof record.id === "string" && typeof record.name === "string" ? record : null;
  });
}

export function writeProcessRecord(folder: string, record: ProcessRecord): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFile(join(folder, RECORD), `${JSON.stringify(record)}\n`);
}

export function listProcessFolders(folder: string): string[] {
  return attemptOr([], () =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name))
      .sort(),
  );
}

/** Tells the keepers of a workspace that its files changed by a job. Costs one look where there are none. */
export function noteLanding(home: string, root: string, now: Date): void {
  const folder = workspaceProcessesFolder(home, root);
  if (!existsSync(folder)) return;
  // Without it the job has landed all the same.
  succeeds(() => writeFileSync(join(folder, LANDED), now.toISOString(), { mode: 0o600 }));
}

/** The last landing that was noted; empty where there was none. */
export function readLanding(folder: string): string {
  return attemptOr("", () => readFileSync(join(folder, LANDED), "utf8"));
}

/** Device and inode; null if there is no folder. */
export function folderIdentity(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : null;
}

const LOG = "log";
const EARLIER_LOG = "log.1";
/** A process that prints more in a second waits for the next one. */
const MOST_BYTES_A_SECOND = 4 * 1024 ** 2;

export type ProcessLogFile = ReturnType<typeof openProcessLog>;

/** The output of a process in two files of half the limit each; a full one becomes the earlier. Excessive output makes the process wait. */
export function openProcessLog(folder: string, limitBytes: number) {
  const file = join(folder, LOG);
  const half = Math.max(4096, Math.floor(limitBytes / 2));
  const size = { bytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0 };
  const second = { began: performance.now(), bytes: 0, isHurried: false };
  const slowDown = (bytes: number) => {
    const passed = performance.now() - second.began;
    if (passed >= 1000) Object.assign(second, { began: performance.now(), bytes: 0 });
    second.bytes += bytes;
    if (second.isHurried || second.bytes <= MOST_BYTES_A_SECOND) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(1, 1000 - passed));
  };
  return {
    add(text: string): void {
      const bytes = Buffer.from(text);
      try {
        for (let at = 0; at < bytes.length; ) {
          if (size.bytes >= half) {
            renameSync(file, join(folder, EARLIER_LOG));
            size.bytes = 0;
          }
          const piece = bytes.subarray(at, at + half - size.bytes);
          appendFileSync(file, piece, { mode: 0o600 });
          size.bytes += piece.length;
          at += piece.length;
        }
      } catch {
        // A full disk loses output, not the process.
      }
      slowDown(bytes.length);
    },
    /** The process is about to end: the remaining output is written without throttling. */
    hurry(): void {
      second.isHurried = true;
    },
  };
}

const TAIL_BYTES = 256 * 1024;

export function readLogTail(
  folder: string,
  lines: number,
  file = LOG,
): { readonly text: string; readonly cut: boolean } {
  const now = readEnd(join(folder, file));
  const needsEarlier = now.text.split("\n").length <= lines && !now.cut;
  const earlier = needsEarlier ? readEnd(join(folder, EARLIER_LOG)) : { text: "", cut: false };
  const all = `${earlier.text}${now.text}`.replace(/\n$/, "").split("\n");
  const shown = all.slice(-lines);
  const hasEarlier = existsSync(join(folder, EARLIER_LOG));
  return {
    text: shown.join("\n"),
    cut: shown.length < all.length || now.cut || earlier.cut || (hasEarlier && !needsEarlier),
  };
}

function readEnd(file: string): { readonly text: string; readonly cut: boolean } {
  return attemptOr({ text: "", cut: false }, () => {
    const bytes = readFileSync(file);
    const cut = bytes.length > TAIL_BYTES;
    return { text: bytes.subarray(cut ? bytes.length - TAIL_BYTES : 0).toString("utf8"), cut };
  });
}

export function isProcessName(name: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,39}$/u.test(name);
}

/** `npm run dev` is `dev`, `./server --port 80` is `server`. */
export function nameFromCommand(command: string): string {
  const words = command.trim().split(/\s+/);
  const [program = "", first = "", second = ""] = words.filter((word) => !/^\w+=/.test(word));
  const base = program.split("/").at(-1) ?? "";
  const script = /^(?:npm|pnpm|yarn|bun|deno|make|just)$/.test(base)
    ? first === "run" || first === "task"
      ? second
      : first
    : base;
  const name = script.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[^\p{L}\p{N}]+|-+$/gu, "");
  return name.slice(0, 30) || "process";
}
