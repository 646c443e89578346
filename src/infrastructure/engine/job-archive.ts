import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type {
  FileDifference,
  JobArchive,
  JobRecord,
  JournalLine,
  StoredJob,
} from "../../application/ports/jobs.ts";
import type { JobState } from "../../application/ports/jobs-transaction.ts";
import type { Change, Interruption } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import {
  AFTER_IMAGES,
  appendJournal,
  BEFORE_IMAGES,
  type DamagedIntent,
  type Intent,
  ifSound,
  isClosed,
  type JobFolder,
  jobFolder,
  listJobIds,
  type Op,
  opSlotPath,
  type Plan,
  planFile,
  type RepairMark,
  readIntent,
  readJson,
  readOrder,
  readOwnPlan,
  readRecord,
  readRepairMarks,
  readSoundState,
  readState,
  readSwapRecord,
  readText,
  stateFile,
  swappedJobId,
  withPath,
  writeDurably,
  writeWhole,
} from "../jobs/job-folder.ts";
import { identifyAt, sameBody, shownBelow } from "../platform/entry-identity.ts";
import { readInto, readNoFollow } from "../platform/read-file.ts";
import { createSweep } from "../platform/unattended.ts";
import { locateAside } from "./kept-aside.ts";

/** The limit of files kept for a diff; larger files are known only while they exist. */
const LARGEST_BYTES = 1024 ** 2;
const ALL_BYTES = 16 * 1024 ** 2;

type ImageRanges = Readonly<Record<string, readonly [offset: number, length: number]>>;

/**
 * Keeps the bytes that a commit or an undo is about to write, so that the job can be shown and merged after the user has edited the
 * files. Removed with the undo record. Staged bytes are kept once; an undo's each time, as a forced redo may replace them.
 */
export function keepImages(folder: JobFolder, plan: Plan, side: "a" | "b"): void {
  const names = side === "b" ? AFTER_IMAGES : BEFORE_IMAGES;
  if (side === "b" && existsSync(join(folder.path, names.places))) return;
  let places = "";
  const kept = plan.ops.filter((op) => {
    const entry = op[side];
    const isFile = entry?.kind === "file" && op.area === "file" && op.inPlace !== true;
    return isFile && entry.size <= LARGEST_BYTES;
  });
  const all = kept.reduce((sum, op) => sum + (op[side]?.size ?? 0), 0);
  // Full where a file takes the last byte: one that grew meanwhile is left out.
  const room = Buffer.allocUnsafe(Math.min(all, LARGEST_BYTES) + 1);
  const at = join(folder.path, names.bytes);
  let [length, waiting] = [0, 0];
  const write = () => {
    withPath(at, () =>
      writeFileSync(at, room.subarray(0, waiting), { mode: 0o600, flag: length === 0 ? "w" : "a" }),
    );
    length += waiting;
    waiting = 0;
  };
  const sweep = createSweep();
  for (const op of kept) {
    sweep();
    const size = op[side]?.size ?? 0;
    if (length + waiting + size > ALL_BYTES) continue;
    if (waiting + size >= room.length) write();
    // A staged file is as long as its plan says; a file of the workspace may have grown since.
    const expected = side === "b" ? size : -1;
    const count = attemptOr(null, () => readInto(opSlotPath(folder, op.n, side), room, waiting, expected));
    if (count === null || waiting + count === room.length) continue;
    // Kept as text: an object for each file of a large job needs as much memory as its plan.
    places += `${places === "" ? "" : ","}"${op.n}":[${length + waiting},${count}]`;
    waiting += count;
  }
  if (places === "") return;
  if (waiting > 0 || length === 0) write();
  writeFileSync(join(folder.path, names.places), `{${places}}`, { mode: 0o600 });
}

function readImage(folder: JobFolder, n: number, side: "a" | "b"): Uint8Array | undefined {
  const names = side === "b" ? AFTER_IMAGES : BEFORE_IMAGES;
  const place = readJson<ImageRanges>(join(folder.path, names.places))?.[n];
  if (place === undefined) return undefined;
  const [offset, length] = place;
  const bytes = new Uint8Array(length);
  const descriptor = openSync(join(folder.path, names.bytes), "r");
  try {
    return readSync(descriptor, bytes, 0, length, offset) === length ? bytes : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Jobs as files: `job.json` and `journal.ndjson` in each job's folder. Without a workspace, differences are unavailable. */
export function createJobArchive(
  storage: string,
  now: () => Date,
  workspace: string | null = null,
): JobArchive {
  const order = createOrderReader(storage);
  /** A job keeps the group with which it began, so that lists of one group need not read the others. */
  const groups = new Map<string, string>();

  function readWithoutNumber(
    jobId: string,
    intent: Intent | DamagedIntent | null = readIntent(storage),
  ): StoredJob | null {
    const folder = jobFolder(storage, jobId);
    const { record, state, damaged, closed } = readJob(folder);
    if (damaged !== null) {
      // In a folder that may not be entered, every id seems to exist.
      if (closed === dirname(folder.path) && !order().has(jobId)) return null;
      const job = withoutRecord(folder.id, record, workspace ?? "", damaged);
      return closed === null ? job : { ...job, closed };
    }
    if (record === null || state === null) return null;
    groups.set(jobId, record.groupId);
    const isDue = state.state === "staged" && record.outcome === "committed";
    const isOpen = swappedJobId(intent) === jobId;
    const swapping = isOpen ? intent : readIntent(folder.path);
    const unsettled = swapping !== null ? (isOpen ? "begun" : "halted") : isDue ? "due" : null;
    const marks = readRepairMarks(folder).map(({ aside, ...mark }): RepairMark => {
      return aside === undefined ? mark : { ...mark, aside: locateAside(storage, jobId, aside) };
    });
    const { reversedBy, broughtInBy, ...own } = record;
    const reversedAt = state.state === "committed" ? inEffectSince(reversedBy) : null;
    const broughtInAt = state.state === "undone" ? inEffectSince(broughtInBy) : null;
    return {
      ...own,
      // Both are omitted for a job that no longer has any effect.
      ...(reversedAt !== null && reversedBy !== undefined && { reversedBy }),
      ...(broughtInAt !== null && broughtInBy !== undefined && { broughtInBy }),
      state: reversedAt !== null ? "undone" : broughtInAt !== null ? "committed" : state.state,
      stateAt: reversedAt ?? broughtInAt ?? state.at,
      bytes: state.bytes ?? 0,
      ...(unsettled !== null && { unsettled }),
      ...interruptionsOf(marks, swapping, state.turn),
      changes: withoutLeftPaths(record.changes, marks, state.turn),
    };
  }

  /** Since when a job that undid or redid another is in effect; null if it is not, for example because a merge undid it. */
  function inEffectSince(jobId: string | undefined): string | null {
    if (jobId === undefined) return null;
    const folder = jobFolder(storage, jobId);
    const state = readSoundState(folder);
    if (state === null || !isSettled(state.state)) return null;
    const record = ifSound(() => readJobRecord(folder));
    if (state.state === "undone") return inEffectSince(record?.broughtInBy);
    return inEffectSince(record?.reversedBy) === null ? state.at : null;
  }

  function list(states?: readonly JobState[], isOfGroup?: (groupId: string) => boolean): StoredJob[] {
    const intent = readIntent(storage);
    const isAsked = (jobId: string) => {
      if (states === undefined) return true;
      const state = readSoundState(jobFolder(storage, jobId))?.state;
      return (
        state !== undefined && states.some((one) => one === state || (isSettled(one) && isSettled(state)))
      );
    };
    const mayBeOfGroup = (groupId: string | undefined) =>
      isOfGroup === undefined || groupId === undefined || isOfGroup(groupId);
    const jobs = listJobIds(storage)
      .filter((jobId) => mayBeOfGroup(groups.get(jobId)) && isAsked(jobId))
      .map((jobId) => readWithoutNumber(jobId, intent))
      .filter((job) => job !== null)
      .filter(({ state }) => states?.includes(state) ?? true)
      // A record without a group belongs to none.
      .filter(({ groupId }) => isOfGroup?.(groupId ?? "") ?? true);
    const known = order();
    // A number that is not in the order is known only among all jobs.
    if (isOfGroup !== undefined && states === undefined && jobs.some(({ jobId }) => !known.has(jobId)))
      return list().filter(({ groupId }) => isOfGroup(groupId));
    return inOrder(jobs, known, states === undefined && isOfGroup === undefined);
  }

  function numbers(): ReadonlyMap<string, number> {
    const all = new Map([...order()].map(([jobId, { number }]) => [jobId, number]));
    if (listJobIds(storage).some((jobId) => !all.has(jobId)))
      for (const { jobId, number } of list()) if (number !== undefined) all.set(jobId, number);
    return all;
  }

  function read(jobId: string): StoredJob | null {
    const job = readWithoutNumber(jobId);
    const number = job && (order().get(jobId)?.number ?? numbers().get(jobId));
    return job === null || number == null ? job : { ...job, number };
  }

  return {
    isFirstOf(kind) {
      const mark = join(storage, `seen-${kind}`);
      if (existsSync(mark)) return false;
      writeFileSync(mark, "");
      return true;
    },
    append: (jobId, event) =>
      appendJournal(jobFolder(storage, jobId), `${JSON.stringify({ at: now().toISOString(), event })}\n`),
    save: (record) => saveJobRecord(jobFolder(storage, record.jobId), record),
    read,
    list,
    numbers,
    events: (jobId) =>
      (readText(join(jobFolder(storage, jobId).path, "journal.ndjson")) ?? "")
        .split("\n")
        .flatMap((line) => journalLine(line)),
    differences: (jobId) =>
      workspace === null ? [] : [...walkDifferences({ storage, workspace, list }, jobId)],
    walkDifferences: (jobId, path, asked) =>
      workspace === null
        ? []
        : walkDifferences({ storage, workspace, list }, jobId, { ...asked, only: path, folders: true }),
  };
}

/** Of these two states, the one on disk may not be the job's: another job can undo or redo it by a merge. */
function isSettled(state: JobState): boolean {
  return state === "committed" || state === "undone";
}

type JobOrder = ReturnType<typeof readOrder>;

/** Parses the order again only if its file changed: it grows with every job, and each read needs it. */
function createOrderReader(storage: string): () => JobOrder {
  let known: { readonly stamp: string; readonly order: JobOrder } | null = null;
  return () => {
    const stamp = attemptOr("", () => {
      const { ino, size, mtimeNs } = statSync(join(storage, "order"), { bigint: true });
      return `${ino} ${size} ${mtimeNs}`;
    });
    if (known?.stamp !== stamp) known = { stamp, order: readOrder(storage) };
    return known.order;
  };
}

/** Jobs in the order in which they began. One without a line there precedes the first created later; its place is its number, if free. */
function inOrder(jobs: readonly StoredJob[], order: JobOrder, isWhole: boolean): StoredJob[] {
  const byTime = jobs.toSorted((x, y) =>
    x.createdAt === y.createdAt ? (x.jobId < y.jobId ? -1 : 1) : x.createdAt < y.createdAt ? -1 : 1,
  );
  const known = byTime
    .flatMap((job) => {
      const place = order.get(job.jobId);
      return place === undefined
        ? []
        : [{ job: { ...job, moved: place.moved, number: place.number }, place }];
    })
    .sort((x, y) => x.place.begun - y.place.begun)
    .map(({ job }): StoredJob => job);
  for (const job of byTime) {
    if (order.has(job.jobId)) continue;
    const at = known.findIndex((other) => other.createdAt > job.createdAt);
    known.splice(at < 0 ? known.length : at, 0, job);
  }
  const taken = new Set(known.map(({ number }) => number));
  return known.map((job, at) =>
    isWhole && job.number === undefined && !taken.has(at + 1) ? { ...job, number: at + 1 } : job,
  );
}

function jobFile({ path }: JobFolder): string {
  return join(path, "job.json");
}

export function saveJobRecord(folder: JobFolder, record: JobRecord): void {
  const write = record.outcome === "running" ? writeWhole : writeDurably;
  write(jobFile(folder), JSON.stringify(record));
}

export function readJobRecord(folder: JobFolder): JobRecord | null {
  return readRecord<JobRecord>(
    jobFile(folder),
    ({ jobId, changes }) => typeof jobId === "string" && Array.isArray(changes),
  );
}

/** `damaged`: the file that must have been written and cannot be read. `closed`: the folder that this user may not read. */
export function readJob(folder: JobFolder) {
  const record = ifSound(() => ({ is: readJobRecord(folder) }));
  const state = ifSound(() => ({ is: readState(folder) }));
  const wasWritten = (file: string) => existsSync(file) && existsSync(planFile(folder));
  const isDamaged = (read: { readonly is: unknown } | null, file: string) =>
    read === null || (read.is === null && wasWritten(file));
  const damaged = isDamaged(record, jobFile(folder))
    ? jobFile(folder)
    : isDamaged(state, stateFile(folder))
      ? stateFile(folder)
      : null;
  const isShut = () => damaged !== null && isClosed(damaged, constants.R_OK);
  const folders = damaged === null ? [] : [dirname(folder.path), folder.path];
  const closed = folders.find((one) => isClosed(one)) ?? (isShut() ? folder.path : null);
  return { record: record?.is ?? null, state: state?.is ?? null, damaged, closed };
}

/** A job as far as its files can be read; its undo data stays in place and is never used. */
function withoutRecord(
  jobId: string,
  known: JobRecord | null,
  workspace: string,
  damaged: string,
): StoredJob {
  const record = known ?? bareRecord(jobId, workspace);
  return { ...record, state: "evicted", stateAt: record.finishedAt, bytes: 0, damaged };
}

/** The facts that follow from a job's id and its folder. */
export function bareRecord(jobId: string, workspace: string): JobRecord {
  const at = new Date(Number(jobId.split("_")[1]) * 1000 || 0).toISOString();
  return {
    jobId,
    groupId: jobId,
    workspace,
    source: "",
    title: "",
    createdAt: at,
    finishedAt: at,
    kind: "copy",
    outcome: "committed",
    success: false,
    totalCmds: 0,
    executedCmds: 0,
    failedCmds: 0,
    changes: [],
    notes: [],
  };
}

function interruptionsOf(
  marks: readonly RepairMark[],
  swapping: Intent | DamagedIntent | null,
  turn: number,
): Pick<StoredJob, "interruptions" | "standsRepaired"> {
  const all: Interruption[] = marks.map(({ turn: _, ...interruption }) => interruption);
  if (swapping !== null && swapping !== "damaged")
    all.push({ direction: swapping.direction, outcome: "open", left: [] });
  if (all.length === 0) return {};
  const last = marks.at(-1);
  const isLast = last !== undefined && last.turn === (last.outcome === "finished" ? turn : turn + 1);
  return { interruptions: all, ...(isLast && { standsRepaired: true }) };
}

/** A commit that left paths out never changed them; a redo that left paths out has not restored them. */
function withoutLeftPaths(
  changes: readonly Change[],
  marks: readonly RepairMark[],
  turn: number,
): readonly Change[] {
  const left = new Set(
    marks
      .filter((mark) => mark.outcome === "finished")
      .filter(({ direction, turn: of }) => direction === "commit" || (direction === "redo" && of === turn))
      .flatMap((mark) => mark.left),
  );
  return left.size === 0 ? changes : changes.filter(({ path }) => !left.has(path));
}

/** A line that a crash cut short is left out. */
function journalLine(line: string): JournalLine[] {
  return attemptOr([], () => (line === "" ? [] : [JSON.parse(line) as JournalLine]));
}

interface ArchivedJobs {
  readonly storage: string;
  readonly workspace: string;
  readonly list: () => StoredJob[];
}

const NO_BYTES = new Uint8Array();

/** Both sides of each file of a job, from its slots, the workspace or a later job's slots. `folders`: files of deleted folders, too. */
function* walkDifferences(
  archived: ArchivedJobs,
  jobId: string,
  {
    only,
    folders = false,
    modes = false,
  }: { readonly only?: string | undefined; readonly folders?: boolean; readonly modes?: boolean } = {},
): Generator<FileDifference> {
  const folder = jobFolder(archived.storage, jobId);
  const own = ifSound(() => readOwnPlan(folder, archived.workspace));
  const record = readSoundState(folder);
  if (own?.status !== "own" || record === null) return;
  const { plan } = own;
  const { state } = record;
  const lastSwap = ifSound(() => readSwapRecord(folder, record.turn));
  const inEffect = state === "committed";
  const fromLaterJob = createLaterJobs(archived, jobId);
  const shown = (op: Op) => shownBelow(archived.workspace, plan.roots[op.root] as string, op.path);
  const ops = plan.ops
    .filter(
      (op) =>
        (only === undefined || shown(op) === only) &&
        op.area === "file" &&
        (modes || op.inPlace !== true) &&
        (op.a?.kind !== "directory" || (folders && op.b === null)) &&
        op.b?.kind !== "directory",
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const op of ops) {
    const path = join(plan.roots[op.root] as string, op.path);
    if (op.a?.kind === "directory") {
      const now = inEffect ? null : identifyAt(path);
      const known = lastSwap?.entries.get(op.n)?.standing;
      const stood = now !== null && (state === "staged" || (known && sameBody(now, known)));
      if (inEffect) yield* walkFolder(opSlotPath(folder, op.n, "a"), shown(op));
      else if (stood) yield* walkFolder(path, shown(op));
      continue;
    }
    const changed = modes && op.a?.kind === "file" && op.b?.kind === "file" && op.a.mode !== op.b.mode;
    const both = changed ? ([op.a?.mode ?? 0, op.b?.mode ?? 0] as const) : undefined;
    if (op.inPlace === true) {
      if (both !== undefined) yield { path: shown(op), before: NO_BYTES, after: NO_BYTES, modes: both };
      continue;
    }
    const standing = () => {
      const now = identifyAt(path);
      const known = lastSwap?.entries.get(op.n)?.standing;
      if (now !== null && (state === "staged" || (known && sameBody(now, known)))) return bytesAt(path);
      const image = state === "staged" ? undefined : readImage(folder, op.n, inEffect ? "b" : "a");
      return image ?? fromLaterJob(op, inEffect ? op.bHash : op.aHash);
    };
    const before = op.a === null ? null : inEffect ? bytesAt(opSlotPath(folder, op.n, "a")) : standing();
    const after = op.b === null ? null : inEffect ? standing() : bytesAt(opSlotPath(folder, op.n, "b"));
    const base = state === "staged" && hasMovedOn(op, path) ? fromLaterJob(op, op.aHash) : undefined;
    const isLink = [op.a, op.b].some((side) => side?.kind === "symlink");
    yield {
      path: shown(op),
      before,
      after,
      ...(base && { base }),
      ...(isLink && { isLink }),
      ...(both && { modes: both }),
    };
  }
}

/** The files of a folder that a job deleted, as deleted ones. Links are not followed, and have no lines. */
function* walkFolder(folder: string, path: string): Generator<FileDifference> {
  const entries = attemptOr(null, () => readdirSync(folder, { withFileTypes: true })) ?? [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const [at, name] = [join(folder, entry.name), `${path}/${entry.name}`];
    if (entry.isDirectory()) yield* walkFolder(at, name);
    // Read on access, so that a caller that only counts the files reads none.
    else if (entry.isFile())
      yield {
        path: name,
        after: null,
        get before() {
          return bytesAt(at);
        },
      };
  }
}

/** Whether a file differs from the one that the preview started with. */
function hasMovedOn({ a }: Op, path: string): boolean {
  const now = identifyAt(path);
  return a !== null && (now === null || !sameBody(now, a));
}

/** A later job that replaced this one's file kept it as its own "before". All plans are read once, when needed. */
function createLaterJobs({ storage, workspace, list }: ArchivedJobs, jobId: string) {
  let slots: Map<string, string> | undefined;
  const key = (path: string, hash: string) => `${hash} ${path}`;
  const readSlots = () => {
    const found = new Map<string, string>();
    for (const other of list()) {
      if (other.jobId === jobId || other.state !== "committed") continue;
      const folder = jobFolder(storage, other.jobId);
      const own = ifSound(() => readOwnPlan(folder, workspace));
      if (own?.status !== "own") continue;
      for (const { path, aHash, n } of own.plan.ops)
        if (aHash !== undefined && !found.has(key(path, aHash)))
          found.set(key(path, aHash), opSlotPath(folder, n, "a"));
    }
    return found;
  };
  return ({ path }: Op, hash: string | undefined): Uint8Array | undefined => {
    if (hash === undefined) return undefined;
    slots ??= readSlots();
    const slot = slots.get(key(path, hash));
    return slot === undefined ? undefined : bytesAt(slot);
  };
}

function bytesAt(path: string): Uint8Array | undefined {
  return attemptOr(undefined, () => readNoFollow(path));
}
