import {
  accessSync,
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { JobState } from "../../application/ports/jobs-transaction.ts";
import type { Change, Interruption } from "../../domain/jobs/result.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isInside, isWithin } from "../../domain/platform/paths.ts";
import { Identity, type StoredIdentity, shownBelow } from "../platform/entry-identity.ts";
import { nearestRoots } from "../platform/git-roots.ts";
import { O_PATH } from "../platform/open-folder.ts";
import { addToSum, checksum, toSum } from "../platform/read-file.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { createSweep, spawnUnattended } from "../platform/unattended.ts";

/**
 * One job on disk, in `<storage>/jobs/<job id>/`:
 *   state.json    which side of the swap is in the workspace
 *   plan.ndjson   one line per path: its entry before the job and after it; a preview has a copy, plan.copy.ndjson
 *   slots/N.a     the "before" of line N while the job is in effect; slots/N.b its "after" while it is not
 *   stands.T.ndjson what swap number T left in the workspace and in the slots, to distinguish later edits from the job's
 *   after.bin, after.json   the bytes that the job wrote, for its diff
 *   repairs.ndjson  its interrupted swaps, and how each was repaired
 *   journal.ndjson, job.json   the events and the summary, for `jobs` and `show`
 * Beside `jobs/`, the file `order` has a line with a job's id when the job begins and at each of its swaps.
 */
export interface JobFolder {
  readonly id: string;
  readonly path: string;
  /** A shorter path to the slots, while they are held open. */
  readonly slots?: string;
}

/** One path of a change set. `a` is before the job, `b` after; null is absence. */
export interface Op {
  readonly n: number;
  readonly root: number;
  readonly path: string;
  readonly a: Identity | null;
  /** The staged entry in its slot; a rename keeps all of it but the ctime. */
  readonly b: Identity | null;
  /** Content hashes where they were cheap to have; of an index file, of what it lists. */
  readonly aHash?: string;
  readonly bHash?: string;
  /** `git`: refs, index and other state of a git directory that existed before; `object`: its object store. */
  readonly area: "file" | "git" | "object";
  /** Only the mode of a file differs: it is changed in place, without a slot. */
  readonly inPlace?: true;
}

export interface Plan {
  readonly roots: readonly string[];
  /** The workspace when the job began, by which `roots` are the reach that the job has for good. Absent in old plans. */
  readonly workspace?: string | undefined;
  /** Nanoseconds on the file system's clock at begin. */
  readonly stamp: string;
  readonly ops: readonly Op[];
  /** The folders above the changed paths, in the state on which the view was based. */
  readonly folders?: readonly WayFolder[];
  /** Of a rebuilt plan: the paths of the job that were lost, so no swap moves them. */
  readonly lost?: readonly string[];
}

export interface WayFolder {
  readonly root: number;
  readonly path: string;
  readonly ino: string;
}

export interface StateFile {
  readonly state: JobState;
  readonly at: string;
  readonly bytes?: number;
  /** How many swaps the job has had; names its `stands` file. */
  readonly turn: number;
}

export interface SwapRecord {
  /** Nanoseconds on the file system's clock after the swap, where a folder with contents took part; else 0. */
  readonly stamp: string;
  /** When each swap of the job was done, oldest first; no two swaps of a workspace have the same. */
  readonly swaps: readonly number[];
  /** Changes of the folders around the moved entries, oldest first. */
  readonly around: readonly FolderTouch[];
  readonly entries: ReadonlyMap<number, SwapRecordEntry>;
}

/** The time of change of a folder before a swap (null: the swap created it) and after it. */
export interface FolderTouch {
  readonly ino: string;
  readonly before: string | null;
  readonly after: string;
}

export interface SwapRecordEntry {
  readonly standing: Identity | null;
  readonly kept: Identity | null;
}

/** The part of the plan that a record repeats, so that either file can be rebuilt from the other. Absent in old records. */
type RepeatedOp = readonly [
  root: number,
  path: string,
  area: Op["area"],
  a: RepeatedSide,
  b: RepeatedSide,
  inPlace: boolean,
];
type RepeatedSide = readonly [kind: Identity["kind"], mode: number, uid: number, gid: number] | null;

export function jobFolder(storage: string, id: string): JobFolder {
  return { id, path: join(storage, "jobs", id) };
}

export function createJobFolder(storage: string, id: string): JobFolder {
  const folder = jobFolder(storage, id);
  mkdirSync(join(storage, "jobs"), { recursive: true, mode: 0o700 });
  mkdirSync(folder.path, { mode: 0o700 });
  mkdirSync(join(folder.path, "slots"), { mode: 0o700 });
  noteOrder(storage, id);
  return folder;
}

/** Clocks may be set back, so this file keeps the order of begins and swaps. A line `-<id>` withdraws a job, which has no number. */
export function noteOrder(storage: string, id: string): void {
  try {
    const file = join(storage, "order");
    // Jobs of versions that recorded no order get the first numbers.
    const earlier = existsSync(file) ? [] : idsByAge(storage).filter((one) => one !== id);
    appendFileSync(file, [...earlier, id, ""].join("\n"), { mode: 0o600 });
  } catch {
    // The disk is full: the order of this job is then known by its times.
  }
}

export function withdrawJobFolder(storage: string, id: string): void {
  removeTree(jobFolder(storage, id).path);
  noteOrder(storage, `-${id}`);
}

/** Where a job has its first and its last line, and its number, by its id. */
export function readOrder(
  storage: string,
): ReadonlyMap<string, { readonly begun: number; readonly moved: number; readonly number: number }> {
  const order = new Map<string, { begun: number; moved: number }>();
  const [ids, withdrawn]: [string[], Set<string>] = [[], new Set()];
  for (const [at, id] of (readText(join(storage, "order")) ?? "").split("\n").entries())
    if (id.startsWith("-")) {
      withdrawn.add(id.slice(1));
      // A job that began later has been named by its number: then the withdrawn one leaves a gap.
      while (withdrawn.has(ids.at(-1) ?? "")) order.delete(ids.pop() ?? "");
    } else if (id !== "") {
      if (!order.has(id)) ids.push(id);
      order.set(id, { begun: order.get(id)?.begun ?? at, moved: at });
    }
  return new Map([...order].map(([id, place], at) => [id, { ...place, number: at + 1 }]));
}

/** If this user may not read the folder, the jobs that the order names, so that none is skipped. */
export function listJobIds(storage: string): string[] {
  const folder = join(storage, "jobs");
  const names = attemptOr(null, () => readdirSync(folder));
  const ids = names ?? (isClosed(folder) ? [...readOrder(storage).keys()] : []);
  return ids.filter((name) => name.startsWith("job_")).sort();
}

/** An id begins with the second of its job. */
function idsByAge(storage: string): string[] {
  const ageOf = (id: string) => attemptOr(0, () => lstatSync(join(storage, "jobs", id)).birthtimeMs);
  return listJobIds(storage)
    .map((id) => ({ id, second: Number(id.split("_")[1]), at: ageOf(id) }))
    .sort((x, y) => x.second - y.second || x.at - y.at)
    .map(({ id }) => id);
}

export function opSlotPath({ path, slots }: JobFolder, n: number, side: "a" | "b"): string {
  return `${slots ?? `${path}/slots`}/${n}.${side}`;
}

/** Slots held open until `close`, for short paths: a job of many files opens each ten times. On Linux; else the job as it is. */
export function openSlots(job: JobFolder): { readonly folder: JobFolder; readonly close: () => void } {
  const slots = join(job.path, "slots");
  if (isClosed(slots)) throw new ClosedRecord(slots);
  if (process.platform !== "linux" || !existsSync(slots)) return { folder: job, close: () => {} };
  const fd = openSync(slots, constants.O_DIRECTORY | O_PATH);
  return { folder: { ...job, slots: `/proc/self/fd/${fd}` }, close: () => closeSync(fd) };
}

/** Throws `DamagedRecord`: a caller that read "no state" as "never begun" would remove the only copy of a user's file. */
export function readState(folder: JobFolder): StateFile | null {
  const isOne = ({ state, turn }: StateFile) => typeof state === "string" && Number.isInteger(turn);
  return readRecord(stateFile(folder), isOne);
}

/** The same for callers that list all jobs. */
export function readSoundState(folder: JobFolder): StateFile | null {
  return ifSound(() => readState(folder));
}

export function stateFile({ path }: JobFolder): string {
  return join(path, "state.json");
}

export function planFile({ path }: JobFolder): string {
  return join(path, "plan.ndjson");
}

/** While the job is a preview. Later the record of its last swap repeats the plan. */
export function planCopyFile({ path }: JobFolder): string {
  return join(path, "plan.copy.ndjson");
}

/** Whether the job has a plan, or the record that repeats it. */
export function hasRecords(folder: JobFolder, turn: number): boolean {
  const repeats = turn === 0 ? planCopyFile(folder) : swapRecordPath(folder, turn);
  return [planFile(folder), repeats].some(existsSync);
}

export function writeState(folder: JobFolder, state: StateFile): void {
  const write = state.state === "running" ? writeWhole : writeDurably;
  write(stateFile(folder), JSON.stringify(state));
}

export function writePlan(folder: JobFolder, plan: Plan): void {
  printPlan(folder, plan).finish();
}

export function printPlan(folder: JobFolder, plan: Plan): Omit<LineWriter, "add"> {
  const { ops, ...header } = plan;
  const lines = openLines(planFile(folder), { ...header, count: ops.length });
  const sweep = createSweep();
  for (const op of ops) {
    lines.add(printOp(op));
    sweep();
  }
  return lines;
}

/** Written by hand for speed: a plan has thousands of ops and identities, and the runtime would inspect every field of each. */
function printOp({ n, root, path, a, b, area, aHash, bHash, inPlace }: Op): string {
  const hashes = `${aHash ? `"${aHash}"` : null},${bHash ? `"${bHash}"` : null}`;
  return `[${n},${root},${JSON.stringify(path)},${printIdentity(a)},${printIdentity(b)},"${area}",${hashes},${inPlace === true}]`;
}

function printIdentity(identity: Identity | null): string {
  return identity === null ? "null" : identity.print();
}

/** The reach in a plan, without reading its paths. */
function readPlanReach(folder: JobFolder): PlanReach | null {
  for (const file of [planFile(folder), planCopyFile(folder)])
    for (const line of readLines(file)) {
      const header = ifSound(() => readPlanHeader(parseRecord(line, file), file));
      if (header !== null) return header;
      break;
    }
  return null;
}

type PlanReach = Pick<Plan, "roots" | "workspace">;
type PlanHeader = Omit<Plan, "ops"> & { readonly count?: number };

function readPlanHeader(value: unknown, path: string): PlanHeader {
  return checkRecord<PlanHeader>(value, path, ({ roots }) => Array.isArray(roots));
}

export function readPlan(folder: JobFolder): Plan | null {
  let header: PlanHeader | null = null;
  const ops: Op[] = [];
  const sweep = createSweep();
  const path = planFile(folder);
  for (const values of readValues(path))
    for (const value of values) {
      if (header === null) header = readPlanHeader(value, path);
      else ops.push(readOp(value, path));
      sweep();
    }
  if (header === null) return null;
  const { roots, workspace, stamp, folders = [], lost, count = ops.length } = header;
  if (count !== ops.length || ops.some(({ root }) => roots[root] === undefined))
    throw new DamagedRecord(path);
  return { roots, workspace, stamp, folders, ops, ...(lost && { lost }) };
}

/** The lines of a damaged record that are still as they were written. `isSure`: their sums prove it. */
function salvageLines(path: string) {
  const written = (ifSound(() => [...readLines(path)]) ?? []).filter((line) => findSum(line) !== "wrong");
  const summed = written.filter((line) => findSum(line) === "right");
  const isSure = summed.length > 0;
  const [first = "", ...rest] = isSure ? summed : written;
  const header = ifSound(() => checkRecord(parseRecord(first, path), path, isHeader));
  return { header, lines: header === null ? [first, ...rest] : rest, isSure };
}

function isHeader(value: Readonly<Record<string, unknown>>): boolean {
  return !Array.isArray(value) && typeof value.stamp === "string";
}

/** Reads the intact lines of a damaged plan or of its copy. */
export function salvagePlan(path: string) {
  const { header, lines, isSure } = salvageLines(path);
  const ops = lines.flatMap((line) => ifSound(() => readOp(parseRecord(line, path), path)) ?? []);
  return { header: header as PlanHeader | null, ops: new Map(ops.map((op) => [op.n, op])), isSure };
}

/** The readable part of a damaged swap record, with the ops that it repeats. */
export function salvageSwapRecord(folder: JobFolder, turn: number) {
  const path = swapRecordPath(folder, turn);
  const { header, lines, isSure } = salvageLines(path);
  const entries = new Map<number, SwapRecordEntry>();
  const ops = new Map<number, Op>();
  for (const line of lines) {
    const read = ifSound(() => readEntry(parseRecord(line, path), path));
    if (read === null) continue;
    const { n, repeated, ...entry } = read;
    entries.set(n, entry);
    if (isSure && Array.isArray(repeated))
      ops.set(n, readRepeated(n, repeated as unknown as RepeatedOp, entry));
  }
  return { header: header as (Partial<SwapRecord> & Partial<PlanReach>) | null, entries, ops };
}

function readRepeated(
  n: number,
  [root, path, area, a, b, inPlace]: RepeatedOp,
  { standing, kept }: SwapRecordEntry,
): Op {
  const side = (written: RepeatedSide) => {
    if (written === null) return null;
    const [kind, mode, uid, gid] = written;
    const known = [standing, kept].find((entry) => entry?.kind === kind && entry.mode === mode);
    return known ?? Identity.read({ kind, mode, uid, gid, ino: "0", size: 0, mtime: "0", ctime: "0" });
  };
  return { n, root, path, a: side(a), b: side(b), area, ...(inPlace && { inPlace }) };
}

function printRepeated({ root, path, area, a, b, inPlace }: Op): string {
  const side = (entry: Identity | null) =>
    entry === null ? "null" : `["${entry.kind}",${entry.mode},${entry.uid},${entry.gid}]`;
  return `[${root},${JSON.stringify(path)},"${area}",${side(a)},${side(b)},${inPlace === true}]`;
}

/** Every op has its fields in one order, so that they share one hidden class of the runtime. */
function readOp(value: unknown, file: string): Op {
  const { n, root, path, a, b, area, aHash, bHash, inPlace } = checkRecord<WrittenOp>(
    Array.isArray(value) ? nameFields(value) : value,
    file,
    (op) => typeof op.path === "string" && Number.isInteger(op.n) && Number.isInteger(op.root),
  );
  const op = { n, root, path, a: readIdentity(a, file), b: readIdentity(b, file), area };
  if (!aHash && !bHash && !inPlace) return op;
  return { ...op, ...(aHash && { aHash }), ...(bHash && { bHash }), ...(inPlace && { inPlace }) };
}

type WrittenOp = Omit<Op, "a" | "b"> & Readonly<Record<"a" | "b", StoredIdentity | null>>;

function nameFields([n, root, path, a, b, area, aHash, bHash, inPlace]: readonly unknown[]) {
  return { n, root, path, a, b, area, aHash, bHash, inPlace };
}

function readIdentity(written: StoredIdentity | null, file: string): Identity | null {
  const read = attemptOr(undefined, () => (written === null ? null : Identity.read(written)));
  if (read === undefined) throw new DamagedRecord(file);
  return read;
}

/** The record of a swap, entry by entry; it becomes valid when it is finished. */
export function openSwapRecord(
  folder: JobFolder,
  turn: number,
  header: Omit<SwapRecord, "entries"> & PlanReach,
) {
  const { stamp, swaps, around, roots, workspace } = header;
  const lines = openLines(swapRecordPath(folder, turn), { stamp, swaps, around, roots, workspace });
  return {
    add: (op: Op, { standing, kept }: SwapRecordEntry) =>
      lines.add(`[${op.n},${printIdentity(standing)},${printIdentity(kept)},${printRepeated(op)}]`),
    finish: lines.finish,
  };
}

/** Null before the first swap. */
export function readSwapRecord(folder: JobFolder, turn: number): SwapRecord | null {
  let header: ReturnType<typeof readSwapHeader> | null = null;
  const entries = new Map<number, SwapRecordEntry>();
  const path = swapRecordPath(folder, turn);
  for (const values of readValues(path))
    for (const value of values) {
      if (header === null) {
        header = readSwapHeader(value, path);
        continue;
      }
      const { n, standing, kept } = readEntry(value, path);
      entries.set(n, { standing, kept });
    }
  return header === null ? null : { ...header, entries };
}

type WrittenEntries = readonly [n: number, StoredIdentity | null, StoredIdentity | null, ...unknown[]];

function readEntry(value: unknown, file: string) {
  const [n, standing, kept, repeated] = checkRecord<WrittenEntries>(
    value,
    file,
    (entry) => Array.isArray(entry) && Number.isInteger(entry[0]),
  );
  return { n, standing: readIdentity(standing, file), kept: readIdentity(kept, file), repeated };
}

function readSwapHeader(value: unknown, path: string): Omit<SwapRecord, "entries"> {
  type Written = Pick<SwapRecord, "stamp"> & Partial<SwapRecord>;
  const header = checkRecord<Written>(value, path, ({ stamp }) => typeof stamp === "string");
  return { stamp: header.stamp, swaps: header.swaps ?? [], around: header.around ?? [] };
}

export function removeSwapRecord(folder: JobFolder, turn: number): void {
  rmSync(swapRecordPath(folder, turn), { force: true });
}

export function swapRecordPath(folder: JobFolder, turn: number): string {
  return join(folder.path, `stands.${turn}.ndjson`);
}

/** A journal that cannot be added to, such as a folder in its place, is moved away: the line says what was done. */
export function appendJournal(folder: JobFolder, line: string): void {
  const path = join(folder.path, "journal.ndjson");
  const append = () => withPath(path, () => appendFileSync(path, line));
  if (succeeds(append)) return;
  if (isClosed(path, constants.W_OK) || lstatSync(path).isDirectory()) renameSync(path, `${path}.damaged`);
  append();
}

/** A home layer of the job's own, and the build output of the baseline's checks. */
export const HOME_LAYER = "home";
export const BUILT_FOLDER = "built";

/** Folders of a job with its staged changes: slots, a copy, the layers of an overlay, of a home and of checks. */
const STAGED = /^(slots|view|home|proxy|built|check\.\d+|[uw]\d+)$/;

export function checkFolders({ path }: JobFolder): string[] {
  return readNames(path)
    .filter((name) => name.startsWith("check."))
    .map((name) => join(path, name));
}

/** The bytes that a job put into the workspace, and the range of each file among them. */
export const AFTER_IMAGES = { bytes: "after.bin", places: "after.json" } as const;
/** The same for the bytes that its undo restored. */
export const BEFORE_IMAGES = { bytes: "before.bin", places: "before.json" } as const;
const IMAGES: ReadonlySet<string> = new Set([AFTER_IMAGES, BEFORE_IMAGES].flatMap(Object.values));

/** With more entries than this, a detached process removes the layers. */
const FEW_ENTRIES = 500;

/** Many entries are only renamed now, so that the disk has time for the swap; `sweepTrash` or the next job's begin removes them. */
export function removeLayers(folder: JobFolder, names: readonly string[], entries: number): void {
  if (entries <= FEW_ENTRIES) {
    for (const name of names) removeTree(join(folder.path, name));
    return;
  }
  const trash = trashOf(dirname(dirname(folder.path)));
  const into = join(trash, `${folder.id}-${crypto.randomUUID()}`);
  mkdirSync(into, { recursive: true, mode: 0o700 });
  for (const name of names) {
    const from = join(folder.path, name);
    if (lstatSync(from, { throwIfNoEntry: false }) === undefined) continue;
    // A folder that its own user may not write to cannot be moved to another.
    chmodSync(from, 0o700);
    renameSync(from, join(into, name));
  }
}

function trashOf(storage: string): string {
  return join(storage, "trash");
}

/** A command may have shut folders to its own user. */
const EMPTY = 'rm -rf -- "$1" 2>/dev/null || { chmod -R u+rwx -- "$1" 2>/dev/null; rm -rf -- "$1"; }';

/** Removes the trash, of all jobs or of one, in detached processes without waiting for them. */
export function sweepTrash(storage: string, jobId = ""): void {
  const trash = trashOf(storage);
  for (const name of existsSync(trash) ? readdirSync(trash) : [])
    if (name.startsWith(jobId))
      spawnUnattended(["/bin/sh", "-c", EMPTY, "sh", join(trash, name)], { PATH: "/usr/bin:/bin" });
}

export function removeSlots(folder: JobFolder): void {
  for (const file of [planFile(folder), planCopyFile(folder)]) rmSync(file, { force: true });
  for (const name of readNames(folder.path)) {
    if (STAGED.test(name)) removeTree(join(folder.path, name));
    if (name.startsWith("stands.") || name === "stamp" || IMAGES.has(name))
      rmSync(join(folder.path, name), { force: true });
  }
}

function readNames(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

/** Written beside, synced, renamed over: a reader sees the old text or the new one. */
export function writeDurably(path: string, text: string): void {
  replaceText(path, text, fsyncSync);
}

/** Not synced, for records of a running job: after a power loss the file may be empty, and the job counts as not begun. */
export function writeWhole(path: string, text: string): void {
  replaceText(path, text, () => {});
}

function replaceText(path: string, text: string, sync: (fd: number) => void): void {
  const temporary = `${path}.tmp`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    withPath(path, () => {
      writeFileSync(fd, text);
      sync(fd);
    });
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}

/** The runtime's error of a write that began does not say to which file. */
export function withPath(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw error instanceof Error && !("path" in error) ? Object.assign(error, { path }) : error;
  }
}

/** Pieces of a long file that are written and read at once. */
const PIECE_BYTES = 256 * 1024;

type LineWriter = ReturnType<typeof openLines>;

/**
 * Written line by line, because a large job would take a hundred megabytes. A line's own sum lets a damaged file be salvaged; the sum of
 * all lines, in the header, lets an intact one be read at once.
 */
function openLines(path: string, header: Readonly<Record<string, unknown>>) {
  const temporary = `${path}.tmp`;
  const fd = openSync(temporary, "w", 0o600);
  const headed = () => `${addSum(JSON.stringify({ v: WHOLE, whole: toSum(whole), ...header }))}\n`;
  let whole = 0;
  let piece = "";
  const attempt = (act: () => void) => {
    try {
      withPath(path, act);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  };
  const write = () => {
    const bytes = Buffer.from(piece);
    whole = addToSum(whole, bytes);
    writeFileSync(fd, bytes);
    piece = "";
  };
  attempt(() => writeFileSync(fd, headed()));
  return {
    add(line: string): void {
      piece += `${addSum(line)}\n`;
      if (piece.length > PIECE_BYTES) attempt(write);
    },
    /** Synced and renamed into its place, as `writeDurably`. */
    finish(): void {
      attempt(() => {
        write();
        if (writeSync(fd, headed(), 0) !== Buffer.byteLength(headed()))
          throw new Error(`short write: ${path}`);
        fsyncSync(fd);
      });
      closeSync(fd);
      renameSync(temporary, path);
    },
    /** In place of `finish`. */
    drop(): void {
      closeSync(fd);
      rmSync(temporary, { force: true });
    },
  };
}

/** The lines of an existing file, without empty ones. */
function* readLines(path: string): Generator<string> {
  for (const piece of readPieces(path))
    for (const line of piece.toString("utf8").split("\n")) if (line !== "") yield line;
}

/** Null if the file does not exist. Never waits for a pipe in its place. */
export function openRecord(path: string): number | null {
  return ifThere(path, () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
}

/** The bytes of an existing file, in pieces of whole lines. Each is valid until the next one is read. */
function* readPieces(path: string): Generator<Buffer> {
  const fd = openRecord(path);
  if (fd === null) return;
  try {
    let bytes = Buffer.allocUnsafe(Math.min(fstatSync(fd).size + 1, PIECE_BYTES));
    let held = 0;
    for (;;) {
      const count = ifThere(path, () => readSync(fd, bytes, held, bytes.length - held, null)) ?? 0;
      const end = count === 0 ? held : bytes.subarray(0, held + count).lastIndexOf(NEWLINE) + 1;
      if (end > 0) yield bytes.subarray(0, end);
      if (count === 0) return;
      held = held + count - end;
      // A line that is longer than the piece.
      const larger = held === bytes.length ? Buffer.allocUnsafe(bytes.length * 2) : bytes;
      bytes.copy(larger, 0, end, end + held);
      bytes = larger;
    }
  } finally {
    closeSync(fd);
  }
}

const NEWLINE = 10;

/** The version of records whose header has a sum of all lines. In version 2 only lines have sums; older ones have none. */
const WHOLE = 3;
const SUMMED = /^\{"v":(?:2|3,"whole":"([0-9a-f]{8})")/;
const VERSION = /^\{"v":(\d+)/;

/** Whether a later version of PicoClaw wrote a record: this one neither reads nor rebuilds it. */
export function isNewerRecord(path: string): boolean {
  const isNewer = ifSound(() => {
    const [header = ""] = readLines(path);
    return readSums(header).isNewer;
  });
  return isNewer === true;
}

function addSum(line: string): string {
  const isArray = line.endsWith("]");
  return `${line.slice(0, -1)},${isArray ? "" : '"sum":'}"${checksum(line)}"${isArray ? "]" : "}"}`;
}

const SUM = /,(?:"sum":)?"([0-9a-f]{8})"([\]}])$/;

function findSum(line: string): "right" | "wrong" | "none" {
  const found = SUM.exec(line.slice(-24));
  if (found === null) return "none";
  const [end, sum, bracket] = found;
  return checksum(`${line.slice(0, -end.length)}${bracket}`) === sum ? "right" : "wrong";
}

/** The values of a record, header first, in pieces; throws if they are damaged. */
function* readValues(path: string): Generator<readonly unknown[]> {
  let sums: ReturnType<typeof readSums> | null = null;
  let whole = 0;
  for (const piece of readPieces(path)) {
    const text = piece.toString("utf8").replace(/\n$/, "");
    const isFirst = sums === null;
    sums ??= readSums(text.split("\n", 1)[0] as string);
    if (sums.isNewer) throw new DamagedRecord(path);
    const { each } = sums;
    const checked = text.split("\n", sums.whole === undefined ? -1 : isFirst ? 1 : 0);
    if (checked.some((line) => findSum(line) !== each)) throw new DamagedRecord(path);
    whole = addToSum(whole, isFirst ? piece.subarray(piece.indexOf(NEWLINE) + 1) : piece);
    yield parseRecord(`[${text.replaceAll("\n", ",")}]`, path) as readonly unknown[];
  }
  if (sums?.whole !== undefined && sums.whole !== toSum(whole)) throw new DamagedRecord(path);
}

/** By the header of a record: the sum of all lines after it, and whether each line has its own. A damaged header names no version. */
function readSums(header: string) {
  const [found, own] = [SUMMED.exec(header), findSum(header)];
  const each: "right" | "none" = found !== null || own !== "none" ? "right" : "none";
  const version = own === "wrong" ? 0 : Number(VERSION.exec(header)?.[1] ?? 0);
  return { whole: found?.[1], each, isNewer: version > WHOLE };
}

function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Null also if the file cannot be read: only for optional files. */
export function readText(path: string): string | null {
  return attemptOr(null, () => readFileSync(path, "utf8"));
}

/** A file of a job's record whose content is not what was written, for example after a disk error or a power loss. */
export class DamagedRecord extends Error {
  constructor(readonly file: string) {
    super(`damaged: ${file}`);
  }
}

/** A record that this user may not read, for example after one run with `sudo`. It may be intact, so it is never rebuilt. */
export class ClosedRecord extends DamagedRecord {
  readonly code = "EACCES";
  readonly path = this.file;
}

export function isClosed(path: string, mode = constants.R_OK | constants.X_OK): boolean {
  return existsSync(path) && !succeeds(() => accessSync(path, mode));
}

/** Null where what is read is damaged. */
export function ifSound<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRecord) return null;
    throw error;
  }
}

function parseRecord(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DamagedRecord(file);
  }
}

function checkRecord<T>(value: unknown, file: string, isOne: (value: T) => boolean): T {
  if (typeof value === "object" && value !== null && isOne(value as T)) return value as T;
  throw new DamagedRecord(file);
}

/** Reads the output of `writeWhole`: null also for an empty file. */
export function readRecord<T>(path: string, isOne: (value: T) => boolean): T | null {
  const text = ifThere(path, () => readFileSync(path, "utf8"));
  return text === null || text === "" ? null : checkRecord(parseRecord(text, path), path, isOne);
}

/** Null if absent. Existence is not asked: in a folder that may not be entered nothing seems to exist. Other failures are this record's. */
function ifThere<T>(path: string, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "EMFILE" || code === "ENFILE") throw error;
    throw code === "EACCES" || code === "EPERM" ? new ClosedRecord(path) : new DamagedRecord(path);
  }
}

/** Null also for a damaged file: only for optional files. */
export function readJson<T>(path: string): T | null {
  return ifSound(() => readRecord<T>(path, () => true));
}

/** Later than every earlier swap, even if the clock was set back. Called under the lock. A power loss may lose only the last one. */
export function takeSwapTime(storage: string, now: Date): number {
  // Overwritten, not replaced by a rename: a file system flushes a file that replaces another.
  const fd = openSync(join(storage, "last-swap"), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const time = Math.max(now.getTime(), (Number(readFileSync(fd, "utf8")) || 0) + 1);
    writeSync(fd, String(time), 0);
    return time;
  } finally {
    closeSync(fd);
  }
}

/** The running swap of a workspace. It is on disk before the first rename and is removed after the last. */
export interface Intent {
  readonly job_id: string;
  readonly direction: "commit" | "undo" | "redo";
  /** The job's turn when this swap is done; if the job's state already names it, only the intent is left to clear. */
  readonly turn: number;
  /** Ops that have nothing to do, or are left out on purpose. */
  readonly skip: readonly number[];
  /** Paths at which the check found other entries than the record: the outgoing and the incoming one. */
  readonly found: readonly (readonly [n: number, leaving: Identity | null, entering: Identity | null])[];
  /** Read-only folders that are made writable during the swap, with the mode that is restored. */
  readonly doors: readonly UnwritableFolder[];
  /** The folders in which entries are moved, if they differ from those of the plan. Absent in old intents. */
  readonly folders?: readonly WayFolder[];
  /** The folders around the moved entries before the swap, for a repair; null is a folder that the swap creates. */
  readonly around?: readonly (readonly [path: string, folder: Pick<Identity, "ino" | "ctime"> | null])[];
  /** The swap failed half-way, and the moved entries are being restored. */
  readonly taking_back?: true;
}

export interface UnwritableFolder {
  readonly root: number;
  readonly path: string;
  readonly mode: number;
}

export function writeIntent(storage: string, intent: Intent): void {
  writeDurably(intentFile(storage), addSum(JSON.stringify(intent)));
  syncFolder(storage);
}

export type DamagedIntent = "damaged";

export function readIntent(storage: string): Intent | DamagedIntent | null {
  const path = intentFile(storage);
  const text = ifThere(path, () => (lstatSync(path).isFile() ? readFileSync(path, "utf8") : ""));
  if (text === null) return null;
  const read = ifSound((): Intent => {
    const written = checkRecord<Omit<Intent, "found"> & { found: readonly WrittenEntries[] }>(
      parseRecord(text, path),
      path,
      ({ job_id: id, turn, skip, found, doors }) =>
        typeof id === "string" && Number.isInteger(turn) && [skip, found, doors].every(Array.isArray),
    );
    const found = written.found.map(
      ([n, leaving, entering]) => [n, readIdentity(leaving, path), readIdentity(entering, path)] as const,
    );
    return { ...written, found };
  });
  return findSum(text) === "wrong" || read === null ? "damaged" : read;
}

/** The job that is being swapped, as far as that can be read. */
export function swappedJobId(intent: Intent | DamagedIntent | null): string | undefined {
  return intent === null || intent === "damaged" ? undefined : intent.job_id;
}

export function clearIntent(storage: string): void {
  rmSync(intentFile(storage), { force: true });
}

/** Moves the intent of a swap that cannot be completed into its job's folder, so that other jobs run; `resumeSwap` retries it. */
export function haltSwap(storage: string, folder: JobFolder): void {
  renameSync(intentFile(storage), intentFile(folder.path));
}

export function isHalted(folder: JobFolder): boolean {
  return existsSync(intentFile(folder.path));
}

/** False if there is nothing to resume, or another swap is to be completed first. */
export function resumeSwap(storage: string, folder: JobFolder): boolean {
  if (!isHalted(folder) || existsSync(intentFile(storage))) return false;
  renameSync(intentFile(folder.path), intentFile(storage));
  return true;
}

export function intentFile(storage: string): string {
  return join(storage, "intent.json");
}

export type OwnPlan =
  | { readonly status: "own"; readonly plan: Plan }
  | { readonly status: "none" }
  /** A root of the plan is neither the workspace nor a part of its repository: the plan must not be carried out. */
  | { readonly status: "foreign"; readonly root: string };

/** A job's plan with its roots as they are now: the workspace may have moved. `written`: the plan just written by the caller. */
export function readOwnPlan(folder: JobFolder, workspace: string, written?: Plan): OwnPlan {
  const plan = written ?? readPlan(folder);
  if (plan === null) return { status: "none" };
  const own = ownRoots(folder, workspace, plan);
  return own.status === "own" ? { status: "own", plan: { ...plan, roots: own.roots } } : own;
}

/** The current places of the roots of a job's plan, where all of them are the workspace's own. */
export function readOwnRoots(folder: JobFolder, workspace: string): readonly string[] {
  const planned = ifSound(() => readPlanReach(folder));
  const own = planned === null ? null : ownRoots(folder, workspace, planned);
  return own?.status === "own" ? own.roots : [];
}

function ownRoots(
  folder: JobFolder,
  workspace: string,
  { roots: planned, workspace: begun }: PlanReach,
): { readonly status: "own"; readonly roots: readonly string[] } | Extract<OwnPlan, { status: "foreign" }> {
  const written =
    begun ?? readJson<{ workspace?: string }>(join(folder.path, "job.json"))?.workspace ?? workspace;
  /** Where the workspace has not moved out of a root, the root is what it was. */
  const isKept = (root: string) => begun !== undefined && (written === workspace || !isInside(root, written));
  let own: readonly string[] | null = null;
  const isOwn = (path: string) => {
    own ??= [workspace, ...nearestRoots(workspace)];
    return isWithin(path, own);
  };
  const roots: string[] = [];
  for (const root of planned) {
    const moved = written === workspace ? root : resolve(workspace, relative(written, root));
    const now = isInside(workspace, moved) ? moved : isKept(root) ? root : [moved, root].find(isOwn);
    if (now === undefined) return { status: "foreign", root };
    roots.push(now);
  }
  return { status: "own", roots };
}

/** The change set for a person: paths relative to the workspace, without git's object store. */
export function toChanges(ops: readonly Op[], roots: readonly string[], workspace: string): Change[] {
  const changes: Change[] = [];
  for (const op of ops) {
    if (op.area === "object") continue;
    const path = shownBelow(workspace, roots[op.root] as string, op.path);
    changes.push({ path, kind: opKind(op) });
  }
  return changes.sort((x, y) => (x.path < y.path ? -1 : 1));
}

export function opKind({ a, b }: Op): Change["kind"] {
  return a === null ? "added" : b === null ? "deleted" : "modified";
}

export interface RepairMark extends Interruption {
  readonly outcome: "finished" | "taken-back";
  /** The turn that the swap was to end. */
  readonly turn: number;
}

/** Written before the repair is settled: a repair that is cut off itself writes another, and loses no path. */
export function addRepairMark(folder: JobFolder, mark: RepairMark): void {
  appendDurably(marksPath(folder), JSON.stringify(mark));
}

export function appendDurably(path: string, line: string): void {
  const fd = openSync(path, "a", 0o600);
  try {
    writeSync(fd, `${line}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** One for each swap that was repaired, oldest first. */
export function readRepairMarks(folder: JobFolder): RepairMark[] {
  const marks = new Map<string, RepairMark>();
  for (const line of (readText(marksPath(folder)) ?? "").split("\n")) {
    // A line that a crash cut short is left out.
    const mark = attemptOr(null, () => JSON.parse(line) as RepairMark);
    if (mark === null) continue;
    const key = `${mark.turn} ${mark.outcome}`;
    const before = marks.get(key);
    const left = new Set([...(before?.left ?? []), ...mark.left]);
    const { folder = "" } = mark.aside ?? before?.aside ?? {};
    const paths = new Set([...(before?.aside?.paths ?? []), ...(mark.aside?.paths ?? [])]);
    marks.set(key, {
      ...mark,
      left: [...left],
      ...(paths.size > 0 && { aside: { folder, paths: [...paths] } }),
    });
  }
  return [...marks.values()];
}

function marksPath({ path }: JobFolder): string {
  return join(path, "repairs.ndjson");
}

/** A file system's own time: earlier writes are before it, later ones not. Waits for the next tick where ticks are coarse. */
export function takeStamp(file: string): bigint {
  const fd = openSync(file, "w", 0o600);
  try {
    futimesSync(fd, 0, 0);
    const before = fstatSync(fd, { bigint: true }).ctimeNs;
    for (;;) {
      futimesSync(fd, 0, 0);
      const now = fstatSync(fd, { bigint: true }).ctimeNs;
      if (now > before) return now;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  } finally {
    closeSync(fd);
  }
}
