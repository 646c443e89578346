import { closeSync, copyFileSync, existsSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import type {
  DamagedUndo,
  DamageSearch,
  JobState,
  MendedRecord,
} from "../../application/ports/jobs-transaction.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { identify, identifyAt } from "../jobs/entry-identity.ts";
import {
  type Intent,
  ifSound,
  type JobFolder,
  jobFolder,
  listJobIds,
  type Plan,
  planFile,
  readOwnPlan,
  readPlan,
  readSoundState,
  readSwapRecord,
  type StateFile,
  stateFile,
  swapRecordPath,
  toChanges,
  writeDurably,
  writeState,
} from "../jobs/job-folder.ts";
import { bareRecord, readJob } from "./job-archive.ts";
import { jobBytes } from "./job-quota.ts";
import { type Direction, inSlot, isSameEntry, outSlot, recordedStep, rootOf, staysInPlace } from "./swap.ts";

/**
 * The swap that a damaged intent was about, as the slots tell it: the job of which an entry is on its way. It is to be taken
 * back, because what the check found, and which paths were left out on purpose, is known no more, while the way back follows
 * from what lies in the slots alone. Null where every job is at rest. Called under the lock.
 */
export function intentFromSlots(storage: string, workspace: string): Intent | null {
  for (const id of listJobIds(storage).reverse()) {
    const folder = jobFolder(storage, id);
    const state = readSoundState(folder);
    const direction = state === null ? undefined : NEXT[state.state];
    if (state === null || direction === undefined) continue;
    const own = ifSound(() => readOwnPlan(folder, workspace));
    const reached = own?.status === "own" ? ifSound(() => reachedOps(folder, own.plan, state)) : null;
    if (own?.status !== "own" || reached === null || reached.length === 0) continue;
    const active = new Set(reached.map(([n]) => n));
    return {
      job_id: id,
      direction,
      turn: state.turn + 1,
      skip: own.plan.ops.filter(({ n }) => !active.has(n)).map(({ n }) => n),
      found: reached,
      doors: [],
      taking_back: true,
    };
  }
  return null;
}

/** The swap that leads away from a state. */
const NEXT: Readonly<Partial<Record<JobState, Intent["direction"]>>> = {
  staged: "commit",
  committed: "undo",
  undone: "redo",
};

/** The ops that a swap had begun: what went out, and what came in. */
function reachedOps(folder: JobFolder, plan: Plan, { state, turn }: StateFile): Intent["found"] {
  const direction: Direction = state === "committed" ? "back" : "forward";
  const stands = readSwapRecord(folder, turn);
  if (turn > 0 && stands === null) return [];
  return plan.ops.flatMap((op): Intent["found"] => {
    const recorded = recordedStep(op, direction, stands);
    const here = identifyIn(rootOf(plan, op), op.path);
    if (staysInPlace(op)) {
      const isDone =
        recorded.goes?.mode !== recorded.comes?.mode &&
        here?.mode === recorded.comes?.mode &&
        here?.ino === recorded.goes?.ino;
      return isDone ? [[op.n, recorded.goes, recorded.comes]] : [];
    }
    const { goes, comes } = recorded;
    const out = identifyAt(outSlot(folder, op, direction));
    const waiting = identifyAt(inSlot(folder, op, direction));
    if (comes === null) {
      // A path that an earlier swap left alone keeps its slot, and what it was to get.
      const isLeft = (direction === "forward" ? op.b : op.a) !== null || here !== null;
      const isOut = out !== null && (op.area === "file" || isSameEntry(out, goes));
      return isOut && !isLeft ? [[op.n, out, null]] : [];
    }
    // Either side of an exchange that was cut off before its second step; then an entry that is out, or has come in.
    if (out !== null) return [[op.n, isSameEntry(out, comes) ? here : out, comes]];
    if (isSameEntry(waiting, comes) || !isSameEntry(here, comes)) return [];
    if (waiting !== null || goes === null) return [[op.n, waiting, comes]];
    return [];
  });
}

function identifyIn(root: string, path: string) {
  return attemptOr(null, () => identify(root, path));
}

/**
 * Writes the records of jobs anew that cannot be read: the state from the swaps that are recorded, the story from the journal
 * and the plan. The damaged file is kept beside. A job without a plan that can be read stays as it is. Called under the lock,
 * when no swap is under way.
 */
export function mendRecords(storage: string, workspace: string): MendedRecord[] {
  const mended: MendedRecord[] = [];
  for (const jobId of listJobIds(storage)) {
    const folder = jobFolder(storage, jobId);
    for (let tries = 0; tries < 2; tries++) {
      const { damaged } = readJob(folder);
      if (damaged === null) break;
      const isMended =
        damaged === stateFile(folder) ? mendState(folder, workspace) : mendStory(folder, workspace);
      mended.push({ jobId, file: damaged, mended: isMended });
      if (!isMended) break;
    }
  }
  return mended;
}

/** The highest swap that is recorded says on which side the job stands: its first commits it, and every second undoes it. */
function mendState(folder: JobFolder, workspace: string): boolean {
  const own = ifSound(() => readOwnPlan(folder, workspace));
  if (own?.status === "none" && !existsSync(planFile(folder))) {
    writeAnew(stateFile(folder), () =>
      writeState(folder, { state: "evicted", at: new Date(bornAt(folder)).toISOString(), turn: 0 }),
    );
    return true;
  }
  if (own?.status !== "own") return false;
  const turn = Math.max(0, ...readdirSync(folder.path).map(turnOf));
  const state: JobState = turn === 0 ? "staged" : turn % 2 === 1 ? "committed" : "undone";
  const record = ifSound(() => readSwapRecord(folder, turn));
  if (turn > 0 && record?.entries.size !== own.plan.ops.length) return false;
  const found: StateFile = {
    state,
    at: new Date(record?.swaps.at(-1) ?? bornAt(folder)).toISOString(),
    turn,
  };
  // One that was on its way is left to whoever can read its intent.
  if (reachedOps(folder, own.plan, found).length > 0) return false;
  writeAnew(stateFile(folder), () => writeState(folder, { ...found, bytes: jobBytes(folder) }));
  return true;
}

/**
 * The jobs of which an undo or redo would be refused, because a record of their undo data is damaged or gone. Others may be at
 * work: a job that was swapped meanwhile is looked at again.
 */
export function findDamagedUndo(storage: string, { whole, jobId }: DamageSearch): DamagedUndo[] {
  const damaged: DamagedUndo[] = [];
  for (const id of listJobIds(storage)) {
    if (jobId !== undefined && id !== jobId) continue;
    const folder = jobFolder(storage, id);
    for (let state = readSoundState(folder); state !== null; ) {
      const file = NEXT[state.state] === undefined ? null : damagedFile(folder, state.turn, whole);
      const now = file === null ? state : readSoundState(folder);
      if (now?.turn === state.turn && now.state === state.state) {
        if (file !== null) damaged.push({ jobId: id, file });
        break;
      }
      state = now;
    }
  }
  return damaged;
}

/** Null also where there is no plan: the job changed nothing, or its undo data was evicted. */
function damagedFile(folder: JobFolder, turn: number, whole: boolean): string | null {
  const [plan, stands] = [planFile(folder), swapRecordPath(folder, turn)];
  if (!existsSync(plan)) return null;
  const readPlanned = () => (whole ? readPlan(folder)?.ops.length : readLastNumber(plan));
  const readRecorded = () => (whole ? readSwapRecord(folder, turn)?.entries.size : readLastNumber(stands));
  const planned = ifSound(readPlanned) ?? null;
  if (planned === null) return plan;
  return turn === 0 || ifSound(readRecorded) === planned ? null : stands;
}

/** Longer than any line with one path. */
const END_BYTES = 64 * 1024;
const HEADER_ALONE = -1;

/**
 * The number of the op that the last line of a plan or of a swap's record is about, from the beginning and the end of the
 * file alone; null where these cannot be what was written. Both files name the same ops in one order.
 */
function readLastNumber(file: string): number | null {
  if (!existsSync(file)) return null;
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, END_BYTES));
    const readAt = (position: number) =>
      bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, bytes.length, position));
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

/** The damaged file is kept beside. */
function writeAnew(file: string, write: () => void): void {
  copyFileSync(file, `${file}.damaged`);
  write();
}

function bornAt({ id }: JobFolder): number {
  return Number(id.split("_")[1]) * 1000 || 0;
}

function turnOf(name: string): number {
  return Number(/^stands\.(\d+)\.ndjson$/.exec(name)?.[1] ?? 0);
}

function mendStory(folder: JobFolder, workspace: string): boolean {
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
  writeAnew(path, () => writeDurably(path, JSON.stringify(record)));
  return true;
}
