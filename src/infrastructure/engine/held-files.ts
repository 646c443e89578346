import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { Conflict } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { Plan } from "../jobs/job-folder.ts";
import { Identity, identify, statEntryAt } from "../platform/entry-identity.ts";
import { fstatEntry, lstatEntry } from "../platform/entry-stats.ts";
import { hasWriters } from "../platform/libc.ts";
import { openQuickly } from "../platform/read-file.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import { type OwnTouches, type Touched, touchKey } from "./own-touches.ts";
import {
  isSameEntry,
  outSlot,
  removesWholeFolder,
  rootOf,
  type Swap,
  shownPath,
  staysInPlace,
} from "./swap.ts";
import type { SwapStep } from "./swap-places.ts";

interface OpenFile {
  readonly path: string;
  readonly process: string;
}

interface WatchedPaths {
  /** By device and inode. */
  readonly files: ReadonlyMap<string, WatchedFile>;
  /** Folders of which everything below counts. */
  readonly folders: readonly WatchedFolder[];
}

interface WatchedFile {
  readonly at: string;
  readonly reportAs: string;
}

type WatchedFolder = ReturnType<typeof watchFolder>;

/** A descriptor's link in /proc is writable when the descriptor is. */
const WRITABLE = 0o200;

function fileKey({ dev, ino }: { readonly dev: bigint | number; readonly ino: bigint | string }): string {
  return `${dev}:${ino}`;
}

/**
 * Which of the watched files another process can write to: replacing one by rename would cut that process off. Files are known by
 * device and inode, as another mount namespace has other paths. Linux only; elsewhere empty.
 */
function openForWriting({ files, folders }: WatchedPaths): OpenFile[] {
  if (process.platform !== "linux" || (files.size === 0 && folders.length === 0)) return [];
  if (folders.length === 0 && hasNoWriter(files)) return [];
  const found: OpenFile[] = [];
  const ours = namespaceOf("self");
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    let isAbroad: boolean | undefined;
    const note = (key: string, pathHere: () => string) => {
      let path = files.get(key)?.reportAs;
      if (path === undefined && folders.length > 0) {
        isAbroad ??= namespaceOf(pid) !== ours;
        path = isAbroad ? belowByInode(folders, key) : belowPath(folders, pathHere());
      }
      if (path !== undefined) found.push({ path, process: `${commandName(pid)} (pid ${pid})` });
    };
    for (const fd of attemptOr([], () => readdirSync(`/proc/${pid}/fd`))) {
      const link = `/proc/${pid}/fd/${fd}`;
      const stats = writableFile(link);
      if (stats !== null) note(fileKey(stats), () => attemptOr("", () => readlinkSync(link)));
    }
    for (const mapped of sharedMappings(pid)) note(mapped.key, () => mapped.path);
  }
  return found;
}

/** A line of `maps`: a mapping that writes through to its file, with the file's device, inode and path. */
const SHARED_WRITABLE = /^\S+ .w.s \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(\/.*)$/gm;

/** The files that a process writes to in its memory; it may have closed their descriptors long ago. */
function* sharedMappings(pid: string): Generator<{ readonly key: string; readonly path: string }> {
  const maps = attemptOr("", () => readFileSync(`/proc/${pid}/maps`, "utf8"));
  for (const [, major = "", minor = "", ino = "", path = ""] of maps.matchAll(SHARED_WRITABLE)) {
    yield {
      key: fileKey({ dev: deviceNumber(Number.parseInt(major, 16), Number.parseInt(minor, 16)), ino }),
      path,
    };
    // Some file systems show another device there than they tell of the file itself.
    const stats = attemptOr(null, () => statSync(path, { bigint: true, throwIfNoEntry: false })) ?? null;
    if (stats !== null && String(stats.ino) === ino) yield { key: fileKey(stats), path };
  }
}

/** As the C library puts a device together for `stat`. */
function deviceNumber(major: number, minor: number): bigint {
  const [high, low] = [BigInt(major), BigInt(minor)];
  return ((high & 0xfffn) << 8n) | (low & 0xffn) | ((low & ~0xffn) << 12n) | ((high & ~0xfffn) << 32n);
}

/** To ask the kernel about one file takes microseconds; a scan of all open files takes 10 to 100 ms. */
const ASKED_ONE_BY_ONE = 2_000;
const LOOK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** True if the kernel confirms it for each file; false if a process writes to one, or nothing is known. */
function hasNoWriter(files: WatchedPaths["files"]): boolean {
  if (files.size > ASKED_ONE_BY_ONE) return false;
  for (const [key, { at }] of files) if (!attemptOr(null, () => isWithoutWriters(at, key))) return false;
  return true;
}

function isWithoutWriters(at: string, key: string): boolean {
  const fd = openQuickly(at, LOOK) ?? openSync(at, LOOK);
  try {
    if (fileKey(fstatEntry(fd)) !== key) return false;
    const asked = hasWriters(fd);
    return asked.ok && !asked.value;
  } finally {
    closeSync(fd);
  }
}

function belowPath(folders: readonly WatchedFolder[], target: string): string | undefined {
  const folder = folders.find(({ at }) => target.startsWith(`${at}/`));
  return folder === undefined ? undefined : folder.reportAs + target.slice(folder.at.length);
}

function belowByInode(folders: readonly WatchedFolder[], key: string): string | undefined {
  for (const { reportAs, below } of folders) {
    const path = below().get(key);
    if (path !== undefined) return `${reportAs}/${path}`;
  }
  return undefined;
}

function writableFile(link: string): { readonly dev: bigint; readonly ino: bigint } | null {
  const shown = attemptOr(null, () => lstatEntry(link));
  if (shown === undefined || shown === null || (shown.mode & WRITABLE) === 0) return null;
  const stats = attemptOr(null, () => statSync(link, { bigint: true, throwIfNoEntry: false })) ?? null;
  return stats?.isFile() === true ? stats : null;
}

function namespaceOf(pid: string): string | null {
  return attemptOr(null, () => readlinkSync(`/proc/${pid}/ns/mnt`));
}

function commandName(pid: string): string {
  return attemptOr("?", () => readFileSync(`/proc/${pid}/comm`, "utf8").trim());
}

/** Files that another process has open for writing, and git state that a running git has locked. */
export function findHeldFiles(plan: Plan, workspace: string, steps: readonly SwapStep[]): Conflict[] {
  const held: Conflict[] = [];
  const absolute = ({ op }: SwapStep) => join(rootOf(plan, op), op.path);
  const planned = new Set(
    plan.ops.filter(({ area }) => area === "git").map((op) => join(rootOf(plan, op), op.path)),
  );
  const devices = devicesOf(plan);
  const files = new Map<string, WatchedFile>();
  const folders: WatchedFolder[] = [];
  for (const step of steps) {
    const { op, leaving } = step;
    const at = absolute(step);
    if (leaving?.kind === "file" && !staysInPlace(op))
      files.set(fileKey({ dev: devices(op.root), ino: leaving.ino }), { at, reportAs: at });
    else if (removesWholeFolder(step)) folders.push(watchFolder(at, at));
    if (
      op.area === "git" &&
      !planned.has(`${at}.lock`) &&
      lstatSync(`${at}.lock`, { throwIfNoEntry: false }) !== undefined
    )
      held.push({ path: shownPath(plan, op, workspace), reason: "open", by: "git" });
  }
  for (const { path, process } of openForWriting({ files, folders }))
    pushOnce(held, { path: relative(workspace, path), reason: "open", by: process });
  return held;
}

/** The processes that hold an entry just moved out, or wrote to it: one opened between check and rename is still written in its slot. */
export function lateWriters(
  { folder, plan, direction, steps }: Swap,
  workspace: string,
  kept: ReadonlyMap<number, Identity | null>,
  since: bigint,
  own: Pick<OwnTouches, "isOurs">,
): Conflict[] {
  const late: Conflict[] = [];
  let moved: Set<string> | undefined;
  // A folder that is removed may contain a hard link to a file that this swap moved.
  const isMovedNow = (entry: Touched) => {
    moved ??= new Set(
      steps
        .flatMap(({ op }) => [kept.get(op.n) ?? null, identify(rootOf(plan, op), op.path)])
        .flatMap((one) => (one === null ? [] : [touchKey(one)])),
    );
    return moved.has(touchKey(entry));
  };
  const isOurs = (entry: Touched) => own.isOurs(entry, since) || isMovedNow(entry);
  const devices = devicesOf(plan);
  const files = new Map<string, WatchedFile>();
  const folders: WatchedFolder[] = [];
  for (const step of steps) {
    const { op, leaving } = step;
    const out = kept.get(op.n) ?? null;
    if (out === null || staysInPlace(op)) continue;
    const path = join(rootOf(plan, op), op.path);
    const slot = outSlot(folder, op, direction);
    if (leaving?.kind === "file") {
      if (!isSameEntry(out, leaving)) late.push({ path: relative(workspace, path), reason: "changed" });
      else files.set(fileKey({ dev: devices(op.root), ino: out.ino }), { at: slot, reportAs: path });
    } else if (removesWholeFolder(step)) {
      if (whoTouchedSince(slot, since, isOurs) === "other")
        late.push({ path: relative(workspace, path), reason: "changed" });
      // By its true path, which descriptors of other processes show.
      folders.push(watchFolder(outSlot({ id: folder.id, path: folder.path }, op, direction), path));
    }
  }
  for (const { path, process } of openForWriting({ files, folders }))
    pushOnce(late, { path: relative(workspace, path), reason: "open", by: process });
  return late;
}

/** One process is enough to name for a path. */
function pushOnce(conflicts: Conflict[], conflict: Conflict): void {
  if (!conflicts.some(({ path, reason }) => path === conflict.path && reason === conflict.reason))
    conflicts.push(conflict);
}

/** The entries in the slots that a swap fills; most jobs of many files fill none. */
export function readKeptEntries({ folder, plan, direction, steps }: Swap) {
  const unfilled = new Set(
    steps
      .filter((step) => step.leaving === null && (direction === "forward" ? step.op.a : step.op.b) === null)
      .map(({ op }) => op.n),
  );
  const entries = new Map<number, Identity>();
  /** The disk that they take; null where folders are among them, or may be beside them. */
  let bytes: number | null = 0;
  for (const op of plan.ops) {
    if (op.a?.kind === "directory" || op.b?.kind === "directory") bytes = null;
    if (staysInPlace(op) || unfilled.has(op.n)) continue;
    const stats = statEntryAt(outSlot(folder, op, direction));
    if (stats === undefined) continue;
    entries.set(op.n, Identity.of(stats));
    if (bytes !== null) bytes += stats.blocks * 512;
  }
  return { entries, bytes };
}

/** Who touched something in a folder since; a rename of the folder itself does not count. */
export function whoTouchedSince(
  folder: string,
  since: bigint,
  isOurs: (entry: Touched) => boolean,
): "none" | "we" | "other" {
  let who: "none" | "we" | "other" = "none";
  const entries = walkFolder(folder, {
    noText: true,
    unreadable: () => {
      who = "other";
    },
  });
  for (const { stats } of entries) {
    if (who === "other") break;
    if (stats.ctimeNs >= since) who = isOurs(Identity.of(stats)) ? "we" : "other";
  }
  return who;
}

function watchFolder(at: string, reportAs: string) {
  let known: Map<string, string> | undefined;
  return {
    at,
    reportAs,
    /** Device and inode of each file below, with its path there; asked for only when a process in another world has files open. */
    below() {
      known ??= new Map(
        [...walkFolder(at, { noText: true })].map(({ path, stats }) => [fileKey(stats), path]),
      );
      return known;
    },
  };
}

function devicesOf(plan: Plan): (root: number) => bigint {
  const known = new Map<number, bigint>();
  return (root) => {
    const device = known.get(root) ?? statSync(plan.roots[root] as string, { bigint: true }).dev;
    known.set(root, device);
    return device;
  };
}
