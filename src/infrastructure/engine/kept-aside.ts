import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { nameJobId } from "../../application/jobs/job-facts.ts";
import type { DoctorCheck, OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import type { KeptAside, KeptAsideFolder } from "../../domain/jobs/result.ts";
import { type Op, readIntent, swappedJobId } from "../jobs/job-folder.ts";
import { identifyAt } from "../platform/entry-identity.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { isFolder } from "../platform/text-files.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import { inSlot, isSameEntry, outSlot, type Swap, shownPath, staysInPlace } from "./swap.ts";

interface AsideMove {
  readonly from: string;
  readonly to: string;
  /** As the user knows it. */
  readonly path: string;
}

/** The entries that a rollback could not restore. They move to `aside/<job>/`, which belongs to the user: the end of the job keeps them. */
export function findUnrestored(storage: string, takenBack: Swap, workspace: string): AsideMove[] {
  const { folder, plan, direction } = takenBack;
  const moves: AsideMove[] = [];
  for (const { op, entering } of takenBack.steps) {
    if (staysInPlace(op)) continue;
    const waiting = inSlot(folder, op, direction);
    const other = outSlot(folder, op, direction);
    const isHalfExchanged = entering !== null && isSameEntry(identifyAt(other), entering);
    for (const from of [waiting, ...(isHalfExchanged ? [other] : [])])
      if (identifyAt(from) !== null)
        moves.push({
          from,
          to: freeName(storage, folder.id, op),
          path: shownPath(plan, op, workspace),
        });
  }
  return moves;
}

/** Under its own path where that is free. */
function freeName(storage: string, jobId: string, op: Op): string {
  const path = asidePath(storage, jobId, op);
  for (let i = 0; ; i++) {
    const name = i === 0 ? path : `${path}.${i}`;
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}

/** The path of an op's entry that was kept aside, unless it was the second of its name. */
export function asidePath(storage: string, jobId: string, op: Op): string {
  return join(jobAside(storage, jobId), op.root === 0 ? op.path : `root-${op.root}/${op.path}`);
}

export function moveAside(moves: readonly AsideMove[]): void {
  for (const { from, to } of moves) {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    renameSync(from, to);
  }
}

export function toKeptAside(storage: string, jobId: string, moves: readonly AsideMove[]): KeptAside | null {
  if (moves.length === 0) return null;
  return { folder: jobAside(storage, jobId), paths: moves.map(({ path }) => path).sort() };
}

/** The jobs of a workspace whose roll-back kept something aside, in the order of their ids. */
export function listKeptAside(storage: string): KeptAsideFolder[] {
  const aside = asideFolder(storage);
  if (!isFolder(aside)) return [];
  return readdirSync(aside, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => measureAside(join(aside, name), name))
    .sort((x, y) => (x.jobId < y.jobId ? -1 : 1));
}

function measureAside(folder: string, jobId: string): KeptAsideFolder {
  let [files, bytes] = [0, 0];
  for (const { stats } of walkFolder(folder, { noText: true })) {
    if (stats.isDirectory()) continue;
    files += 1;
    bytes += Number(stats.size);
  }
  return { jobId, folder, files, bytes };
}

/** Removes for good what a job's rollback kept aside; null: nothing. `unfinished`: a swap is still being reverted, and may add to it. */
export function removeKeptAside(storage: string, jobId: string): KeptAsideFolder | "unfinished" | null {
  // Only a name that is listed: one made of dots and slashes leads elsewhere.
  const kept = listKeptAside(storage).find((one) => one.jobId === jobId);
  if (kept === undefined) return null;
  const intent = readIntent(storage);
  if (intent === "damaged" || swappedJobId(intent) === jobId) return "unfinished";
  removeTree(kept.folder);
  return kept;
}

/** Reported, but not as a failure: the user decides how long these files stay. */
export function diagnoseAside({
  messages,
  workspace,
}: Pick<OpenedWorkspace, "messages" | "workspace">): DoctorCheck[] {
  return listKeptAside(workspace.storage).map((kept) => ({
    name: "aside",
    ok: false,
    optional: true,
    text: messages.asideKept({ ...kept, jobId: nameJobId(workspace.archive, kept.jobId) }),
    remedy: messages.asideRemedy(nameJobId(workspace.archive, kept.jobId)),
  }));
}

/** Where the originals that were kept aside are now: the storage may have moved with its workspace, and the user may have removed it. */
export function locateAside(storage: string, jobId: string, { paths }: KeptAside): KeptAside {
  const folder = jobAside(storage, jobId);
  return { folder, paths, ...(!existsSync(folder) && { removed: true }) };
}

function jobAside(storage: string, jobId: string): string {
  return join(asideFolder(storage), jobId);
}

function asideFolder(storage: string): string {
  return join(storage, "aside");
}
