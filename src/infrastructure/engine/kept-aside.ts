import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KeptAside } from "../../domain/jobs/note.ts";
import { identifyAt } from "./entry-identity.ts";
import type { Op } from "./job-folder.ts";
import { inSlot, isSameEntry, outSlot, type Swap, shownPath, staysInPlace } from "./swap.ts";

/** An entry that is moved out of the job's slots. */
interface AsideMove {
  readonly from: string;
  readonly to: string;
  /** As the user knows it. */
  readonly path: string;
}

/**
 * The entries that a swap which was taken back could not put back, because their folder is gone or something else stands
 * there. They leave the job, so that nothing which ends a job ever removes them: `aside/<job>/` beside the jobs is the user's.
 */
export function findUnrestored(storage: string, takenBack: Swap, workspace: string): AsideMove[] {
  const { folder, plan, direction } = takenBack;
  const moves: AsideMove[] = [];
  for (const { op, comes } of takenBack.turns) {
    if (staysInPlace(op)) continue;
    const waiting = inSlot(folder, op, direction);
    const other = outSlot(folder, op, direction);
    const isHalfExchanged = comes !== null && isSameEntry(identifyAt(other), comes);
    for (const from of [waiting, ...(isHalfExchanged ? [other] : [])])
      if (identifyAt(from) !== null)
        moves.push({
          from,
          to: freeName(join(storage, "aside", folder.id), op),
          path: shownPath(plan, op, workspace),
        });
  }
  return moves;
}

/** Under its own path where that is free. */
function freeName(aside: string, op: Op): string {
  const path = op.root === 0 ? op.path : `root-${op.root}/${op.path}`;
  for (let i = 0; ; i++) {
    const name = join(aside, i === 0 ? path : `${path}.${i}`);
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}

export function moveAside(moves: readonly AsideMove[]): void {
  for (const { from, to } of moves) {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    renameSync(from, to);
  }
}

export function toKeptAside(storage: string, jobId: string, moves: readonly AsideMove[]): KeptAside | null {
  if (moves.length === 0) return null;
  return { folder: join(storage, "aside", jobId), paths: moves.map(({ path }) => path).sort() };
}
