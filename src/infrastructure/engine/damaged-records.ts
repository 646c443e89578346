import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  readdirSync,
  readSync,
  renameSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type {
  DamagedUndo,
  DamageSearch,
  JobState,
  RepairedRecord,
} from "../../application/ports/jobs-transaction.ts";
import type { Change } from "../../domain/jobs/result.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import {
  hasRecords,
  type Intent,
  ifSound,
  intentFile,
  isClosed,
  isNewerRecord,
  type JobFolder,
  jobFolder,
  listJobIds,
  type Op,
  openRecord,
  openSwapRecord,
  opKind,
  opSlotPath,
  type Plan,
  planCopyFile,
  planFile,
  readOwnPlan,
  readPlan,
  readSoundState,
  readSwapRecord,
  readText,
  type StateFile,
  type SwapRecord,
  type SwapRecordEntry,
  salvagePlan,
  salvageSwapRecord,
  stateFile,
  swapRecordPath,
  toChanges,
  writeDurably,
  writePlan,
  writeState,
} from "../jobs/job-folder.ts";
import { identify, identifyAt, sameBody, shownBelow } from "../platform/entry-identity.ts";
import { nearestRoots, rootsFor } from "../platform/git-roots.ts";
import { areaOf } from "./compare-entries.ts";
import { bareRecord, readJob, readJobRecord, saveJobRecord } from "./job-archive.ts";
import { jobBytes } from "./job-quota.ts";
import { type Direction, inSlot, isSameEntry, outSlot, recordedStep, rootOf, staysInPlace } from "./swap.ts";

/**
 * The swap of a damaged intent, derived from the slots: the job with an entry that is half moved. It has to be reverted:
 * the check's findings and the paths left out on purpose are lost, but the slots alone suffice to revert. A job without a
 * readable plan is named with nothing to revert, so that it is halted. Null if no job has such an entry. Called under the lock.
 */
export function intentFromSlots(storage: string, workspace: string): Intent | null {
  const written = readText(intentFile(storage)) ?? "";
  let unreadable: Intent | null = null;
  for (const id of listJobIds(storage).reverse()) {
    const folder = jobFolder(storage, id);
    const state = readSoundState(folder);
    const direction = state === null ? undefined : NEXT[state.state];
    if (state === null || direction === undefined) continue;
    const own = readOrRebuild(folder, workspace, () => readOwnPlan(folder, workspace));
    const { ops } = own?.status === "own" ? own.plan : { ops: [] };
    const look = () => (own?.status === "own" ? reachedOps(folder, own.plan, state) : []);
    const found = own && readOrRebuild(folder, workspace, look);
    const reached = new Set(found?.map(([n]) => n));
    const skip = ops.map(({ n }) => n).filter((n) => !reached.has(n));
    const taking = { direction, turn: state.turn + 1, doors: [], taking_back: true } as const;
    if (reached.size > 0) return { job_id: id, ...taking, skip, found: found ?? [] };
    if (found === null && (written.includes(`"${id}"`) || hasMoved(folder, direction)))
      unreadable ??= { job_id: id, ...taking, skip: [], found: [] };
  }
  return unreadable;
}

/** Whether a slot holds what only the swap in this direction puts there. */
function hasMoved({ path }: JobFolder, direction: Intent["direction"]): boolean {
  const side = direction === "undo" ? ".b" : ".a";
  return attemptOr([], () => readdirSync(join(path, "slots"))).some((name) => name.endsWith(side));
}

/** Null if the record is damaged and cannot be rebuilt as a whole. */
export function readOrRebuild<T>(folder: JobFolder, workspace: string, read: () => T): T | null {
  const found = ifSound(read);
  if (found !== null) return found;
  return rebuildPlan(folder, workspace, { wholeOnly: true }) === null ? null : ifSound(read);
}

/** The next swap from a state. */
const NEXT: Readonly<Partial<Record<JobState, Intent["direction"]>>> = {
  staged: "commit",
  committed: "undo",
  undone: "redo",
};

/** The ops that a swap had begun, with the outgoing and the incoming entry. */
function reachedOps(folder: JobFolder, plan: Plan, { state, turn }: StateFile): Intent["found"] {
  const direction: Direction = state === "committed" ? "back" : "forward";
  const record = readSwapRecord(folder, turn);
  if (turn > 0 && record === null) return [];
  const reached = plan.ops.flatMap((op): Intent["found"] => {
    const recorded = recordedStep(op, direction, record);
    const here = identifyIn(rootOf(plan, op), op.path);
    if (staysInPlace(op)) {
      const isDone =
        recorded.leaving?.mode !== recorded.entering?.mode &&
        here?.mode === recorded.entering?.mode &&
        here?.ino === recorded.leaving?.ino;
      return isDone ? [[op.n, recorded.leaving, recorded.entering]] : [];
    }
    const { leaving, entering } = recorded;
    const out = identifyAt(outSlot(folder, op, direction));
    const waiting = identifyAt(inSlot(folder, op, direction));
    if (entering === null) {
      // A path that an earlier swap left alone keeps its slot and the entry in it.
      const isLeft = (direction === "forward" ? op.b : op.a) !== null || here !== null;
      const isOut = out !== null && (op.area === "file" || isSameEntry(out, leaving));
      return isOut && !isLeft ? [[op.n, out, null]] : [];
    }
    // Either side of an exchange that was cut off before its second step; then an entry that is out, or has come in.
    if (out !== null) return [[op.n, isSameEntry(out, entering) ? here : out, entering]];
    if (isSameEntry(waiting, entering) || !isSameEntry(here, entering)) return [];
    if (waiting !== null || leaving === null) return [[op.n, waiting, entering]];
    return [];
  });
  // Folders with other jobs' files in them were lent by this job (see `shared-folders.ts`).
  const ops = new Map(plan.ops.map((op) => [op.n, op]));
  const isLent = ([n]: Intent["found"][number]) => {
    const op = ops.get(n);
    return op?.a === null && attemptOr([], () => readdirSync(join(rootOf(plan, op), op.path))).length > 0;
  };
  return reached.every(isLent) ? [] : reached;
}

function identifyIn(root: string, path: string) {
  return attemptOr(null, () => identify(root, path));
}

/** Rebuilds unreadable job records from what others repeat, and keeps the damaged file. Called under the lock, when no swap is running. */
export function repairRecords(storage: string, workspace: string): RepairedRecord[] {
  const repaired: RepairedRecord[] = [];
  for (const jobId of listJobIds(storage)) {
    const folder = jobFolder(storage, jobId);
    if (readJob(folder).closed !== null) continue;
    const file = findDamagedFile(folder, true);
    const lost = file === null ? null : rebuildPlan(folder, workspace);
    if (file !== null && lost !== null) repaired.push({ jobId, file, repaired: true, lost });
    for (let tries = 0; tries < 2; tries++) {
      const { damaged } = readJob(folder);
      if (damaged === null) break;
      const isRepaired =
        damaged === stateFile(folder) ? rebuildState(folder, workspace) : rebuildStory(folder, workspace);
      repaired.push({ jobId, file: damaged, repaired: isRepaired });
      if (!isRepaired) break;
    }
  }
  return repaired;
}

/**
 * Rebuilds a damaged plan and the damaged record of the last swap from each other, the story, the slots and the workspace;
 * the damaged files are kept. Returns the paths of the job that no source contains any more, or null if nothing can be
 * rebuilt. `wholeOnly`: nothing is written unless every path is known. Called under the lock.
 */
export function rebuildPlan(
  folder: JobFolder,
  workspace: string,
  { wholeOnly = false }: { readonly wholeOnly?: boolean } = {},
): readonly string[] | null {
  const rebuilt = findProvenOps(folder, workspace);
  if (rebuilt === null || (wholeOnly && rebuilt.lost.length > 0)) return null;
  const { plan, record, turn, lost } = rebuilt;
  for (const file of [planFile(folder), swapRecordPath(folder, turn)]) keepDamaged(file);
  if (record !== null) {
    const lines = openSwapRecord(folder, turn, { ...record, roots: plan.roots, workspace: plan.workspace });
    for (const op of plan.ops) lines.add(op, record.entries.get(op.n) as SwapRecordEntry);
    lines.finish();
  }
  writePlan(folder, plan);
  const story = ifSound(() => readJobRecord(folder));
  if (story !== null) {
    const notes = story.notes.filter((note) => typeof note === "string" || note.code !== "rebuilt");
    saveJobRecord(folder, { ...story, notes: [...notes, { code: "rebuilt", paths: lost }] });
  }
  return lost;
}

interface ProvenOps {
  readonly plan: Plan;
  /** Null before the first swap. */
  readonly record: SwapRecord | null;
  readonly turn: number;
  readonly lost: readonly string[];
}

/** A preview is applied whole or not at all, and its plan is all that is known: each line is in the plan or in its copy. */
function findProvenPreview(folder: JobFolder): ProvenOps | null {
  const sides = [planFile(folder), planCopyFile(folder)].map(salvagePlan).filter(({ isSure }) => isSure);
  const header = sides.find((side) => side.header !== null)?.header;
  const ops = new Map(sides.flatMap((side) => [...side.ops]));
  if (header?.count !== ops.size) return null;
  const { count: _, ...plan } = header;
  const sorted = [...ops.values()].sort((x, y) => x.n - y.n);
  return { plan: { ...plan, ops: sorted }, record: null, turn: 0, lost: [] };
}

function findProvenOps(folder: JobFolder, workspace: string): ProvenOps | null {
  const state = readSoundState(folder) ?? lastSwap(folder);
  if (NEXT[state.state] === undefined) return null;
  if ([planFile(folder), swapRecordPath(folder, state.turn)].some(whyUnreadable)) return null;
  if (state.turn === 0) return findProvenPreview(folder);
  const planned = salvagePlan(planFile(folder));
  const swapped = salvageSwapRecord(folder, state.turn);
  const story = ifSound(() => readJobRecord(folder));
  const kinds = new Map(story?.changes.map(({ path, kind }) => [path, kind]));
  const shownIn = (reach: readonly string[], op: Op) =>
    shownBelow(workspace, reach[op.root] ?? workspace, op.path);
  /** Without a header, the reach in which the plan's paths are the story's. */
  const findRoots = () => {
    const known = story?.kind === "direct" ? [] : [rootsFor(workspace), nearestRoots(workspace)];
    const lines = [...planned.ops.values()];
    return (
      known.find((reach) => lines.some((op) => kinds.has(shownIn(reach, op)))) ?? known[0] ?? [workspace]
    );
  };
  const roots = planned.header?.roots ?? swapped.header?.roots ?? findRoots();
  const shown = (op: Op) => shownIn(roots, op);
  const isIn = state.state === "committed";
  /** A line without a sum counts if journal and swap record agree with it. */
  const isConfirmed = (op: Op) => {
    const entry = swapped.entries.get(op.n);
    if (roots[op.root] === undefined || kinds.get(shown(op)) !== opKind(op) || staysInPlace(op)) return false;
    return (
      entry === undefined ||
      (isSameEntry(entry.standing, isIn ? op.b : op.a) && isSameEntry(entry.kept, isIn ? op.a : op.b))
    );
  };
  const ops = new Map(swapped.ops);
  for (const [n, op] of planned.ops) if (planned.isSure || isConfirmed(op)) ops.set(n, op);
  const known = new Set([...ops.values()].filter((op) => roots[op.root] !== undefined).map(shown));
  const unknown = [...kinds].filter(([path]) => !known.has(path));
  for (const op of recogniseOps(unknown, swapped.entries, { ops, roots, workspace, state }))
    ops.set(op.n, op);
  const entries = new Map<number, SwapRecordEntry>();
  for (const op of ops.values()) {
    const entry = roots[op.root] && (swapped.entries.get(op.n) ?? proveEntry(folder, roots, op, state));
    if (entry) entries.set(op.n, entry);
  }
  const proven = [...ops.values()].filter(({ n }) => entries.has(n)).sort((x, y) => x.n - y.n);
  const count = planned.header?.count;
  if (proven.length === 0 || (story === null && count !== proven.length)) return null;
  const named = new Set(proven.map(shown));
  const lost = [...kinds.keys()].filter((path) => !named.has(path)).sort();
  const { stamp = "0", swaps = [Date.parse(state.at)], around = [] } = swapped.header ?? {};
  return {
    plan: {
      roots,
      workspace: planned.header?.workspace ?? swapped.header?.workspace,
      stamp: planned.header?.stamp ?? "0",
      folders: planned.header?.folders ?? [],
      ops: proven,
      ...(lost.length > 0 && { lost }),
    },
    record: { stamp, swaps, around, entries },
    turn: state.turn,
    lost,
  };
}

function lastSwap(folder: JobFolder): StateFile {
  const turn = Math.max(0, ...readdirSync(folder.path).map(turnOf));
  const state: JobState = turn === 0 ? "staged" : turn % 2 === 1 ? "committed" : "undone";
  return { state, turn, at: new Date(bornAt(folder)).toISOString() };
}

interface Recognition {
  readonly ops: ReadonlyMap<number, Op>;
  readonly roots: readonly string[];
  readonly workspace: string;
  readonly state: StateFile;
}

/** The ops of records that do not repeat the plan, by the entries at the journal's paths; the last path is known if one slot remains. */
function recogniseOps(
  unknown: readonly (readonly [path: string, kind: Change["kind"]])[],
  entries: ReadonlyMap<number, SwapRecordEntry>,
  { ops, roots, workspace, state }: Recognition,
): Op[] {
  const left = new Map([...entries].filter(([n]) => !ops.has(n)));
  const isIn = state.state === "committed";
  const added = new Set(
    unknown.filter(([, kind]) => kind === "added").map(([path]) => resolve(workspace, path)),
  );
  const found: Op[] = [];
  const take = (path: string, kind: Change["kind"], match: (entry: SwapRecordEntry) => boolean) => {
    const absolute = resolve(workspace, path);
    const root = roots.findLastIndex((one) => isInside(one, absolute));
    const fitting = [...left].filter(([, entry]) => {
      const [a, b] = isIn ? [entry.kept, entry.standing] : [entry.standing, entry.kept];
      return (a === null) === (kind === "added") && (b === null) === (kind === "deleted") && match(entry);
    });
    const [only] = fitting;
    if (root < 0 || only === undefined || fitting.length > 1) return;
    const [n, { standing, kept }] = only;
    const top = roots[root] as string;
    const below = absolute.slice(top.length + 1);
    const area = areaOf(below, root > 0, (at) => added.has(join(top, at)));
    const [a, b] = isIn ? [kept, standing] : [standing, kept];
    left.delete(n);
    found.push({ n, root, path: below, a, b, area });
  };
  const isGone = (kind: Change["kind"]) => kind === (isIn ? "deleted" : "added");
  for (const [path, kind] of unknown) {
    const here = isGone(kind) ? null : identifyIn(workspace, path);
    if (here !== null) take(path, kind, ({ standing }) => standing !== null && isSameEntry(here, standing));
  }
  const gone = unknown.filter(([, kind]) => isGone(kind));
  if (gone.length === 1)
    for (const [path, kind] of gone) take(path, kind, ({ standing }) => standing === null);
  return found;
}

/** The entries of an op whose line of the record is lost: those of the plan, where path and slot hold nothing else. */
function proveEntry(
  folder: JobFolder,
  roots: readonly string[],
  op: Op,
  { state, at }: StateFile,
): SwapRecordEntry | null {
  const isIn = state === "committed";
  const [planned, other] = isIn ? [op.b, op.a] : [op.a, op.b];
  const kept = staysInPlace(op) ? null : identifyAt(opSlotPath(folder, op.n, isIn ? "a" : "b"));
  if (!staysInPlace(op) && op.area !== "object" && !isSameEntry(kept, other)) return null;
  const here = identifyIn(roots[op.root] as string, op.path);
  const isUntouched =
    here !== null &&
    planned !== null &&
    sameBody(here, planned) &&
    BigInt(here.ctime) <= BigInt(Date.parse(at) + 1) * 1_000_000n;
  return { standing: isUntouched ? here : planned, kept };
}

/** The number of the last recorded swap decides the state: odd swaps commit the job, even swaps undo it. */
function rebuildState(folder: JobFolder, workspace: string): boolean {
  const own = ifSound(() => readOwnPlan(folder, workspace));
  if (own?.status === "none" && !existsSync(planFile(folder))) {
    keepDamaged(stateFile(folder));
    writeState(folder, { state: "evicted", at: new Date(bornAt(folder)).toISOString(), turn: 0 });
    return true;
  }
  if (own?.status !== "own") return false;
  const { state, turn } = lastSwap(folder);
  const record = ifSound(() => readSwapRecord(folder, turn));
  if (turn > 0 && record?.entries.size !== own.plan.ops.length) return false;
  const found: StateFile = {
    state,
    at: new Date(record?.swaps.at(-1) ?? bornAt(folder)).toISOString(),
    turn,
  };
  // A swap in progress is left to a process that can read its intent.
  if (reachedOps(folder, own.plan, found).length > 0) return false;
  keepDamaged(stateFile(folder));
  writeState(folder, { ...found, bytes: jobBytes(folder) });
  return true;
}

/** The jobs of which an undo or redo would be refused for damaged or missing undo data. One that was swapped meanwhile is read again. */
export function findDamagedUndo(
  storage: string,
  workspace: string,
  { whole, jobIds }: DamageSearch,
): DamagedUndo[] {
  const damaged: DamagedUndo[] = [];
  for (const id of listJobIds(storage)) {
    if (jobIds?.has(id) === false) continue;
    const folder = jobFolder(storage, id);
    for (let state = readSoundState(folder); state !== null; ) {
      const file = findDamagedFile(folder, whole);
      const now = file === null ? state : readSoundState(folder);
      if (now?.turn === state.turn && now.state === state.state) {
        if (file !== null) {
          const lost = findProvenOps(folder, workspace)?.lost ?? whyUnreadable(file);
          damaged.push({ jobId: id, file, lost });
        }
        break;
      }
      state = now;
    }
  }
  return damaged;
}

/** Why a record is neither used nor rebuilt although it may be intact; null if it is not. */
export function whyUnreadable(file: string): "closed" | "newer" | null {
  if (isClosed(file, constants.R_OK)) return "closed";
  return isNewerRecord(file) ? "newer" : null;
}

/** Null also if neither exists: the job changed nothing, or its undo data was evicted. */
function findDamagedFile(folder: JobFolder, whole: boolean): string | null {
  const { state, turn } = readSoundState(folder) ?? lastSwap(folder);
  const [plan, recordPath] = [planFile(folder), swapRecordPath(folder, turn)];
  if (NEXT[state] === undefined || !hasRecords(folder, turn)) return null;
  const readPlanned = () => (whole ? readPlan(folder)?.ops.length : readLastNumber(plan));
  const readRecorded = () =>
    whole ? readSwapRecord(folder, turn)?.entries.size : readLastNumber(recordPath);
  const planned = ifSound(readPlanned) ?? null;
  if (planned === null) return plan;
  return turn === 0 || ifSound(readRecorded) === planned ? null : recordPath;
}

/** Longer than any line with one path. */
const END_BYTES = 64 * 1024;
const HEADER_ALONE = -1;

/** The op that the last line of a plan or a swap's record is about, from the file's ends alone; null if these cannot be intact. */
function readLastNumber(file: string): number | null {
  const descriptor = openRecord(file);
  if (descriptor === null) return null;
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, END_BYTES));
    const readAt = (position: number) =>
      bytes.toString(
        "latin1",
        0,
        attemptOr(0, () => readSync(descriptor, bytes, 0, bytes.length, position)),
      );
    const head = readAt(0);
    const tail = size > END_BYTES ? readAt(size - END_BYTES) : head;
    if (!head.startsWith("{") || !tail.endsWith("\n") || (head + tail).includes("\0")) return null;
    const lines = tail.slice(0, -1).split("\n");
    const last = lines.at(-1) ?? "";
    if (!succeeds(() => JSON.parse(last))) return null;
    return lines.length === 1 ? HEADER_ALONE : Number(/^(?:\{"n":|\[)(\d+),/.exec(last)?.[1]);
  } finally {
    closeSync(descriptor);
  }
}

/** A copy, so that the record has a file at any moment; what cannot be copied is moved away. */
function keepDamaged(file: string): void {
  const kept = `${file}.damaged`;
  if (existsSync(file) && !succeeds(() => copyFileSync(file, kept))) renameSync(file, kept);
}

function bornAt({ id }: JobFolder): number {
  return Number(id.split("_")[1]) * 1000 || 0;
}

function turnOf(name: string): number {
  return Number(/^stands\.(\d+)\.ndjson$/.exec(name)?.[1] ?? 0);
}

function rebuildStory(folder: JobFolder, workspace: string): boolean {
  const own = ifSound(() => readOwnPlan(folder, workspace));
  const isWithoutPlan = own?.status === "none" && !existsSync(planFile(folder));
  if (own?.status !== "own" && !isWithoutPlan) return false;
  const path = `${folder.path}/job.json`;
  const state = readSoundState(folder);
  const record = {
    ...bareRecord(folder.id, workspace),
    outcome: state?.state === "staged" ? ("staged" as const) : ("committed" as const),
    success: true,
    changes: own?.status === "own" ? toChanges(own.plan.ops, own.plan.roots, workspace) : [],
  };
  keepDamaged(path);
  writeDurably(path, JSON.stringify(record));
  return true;
}
