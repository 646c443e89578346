import type { ClaimedTask, SolveTask } from "../ports/tasks.ts";
import { carryOut, type SolveOptions } from "./carry-out.ts";
import type { SolveDeps } from "./solve-work.ts";

const AFTER_TROUBLE_MS = 5_000;

/** Claims one task and carries it out in this process. Null when another process works on it. */
export async function solveTask(
  parts: SolveDeps,
  taskId: string,
  options: SolveOptions,
): Promise<SolveTask | null> {
  const claimed = await parts.store.claimOwn(taskId);
  return claimed === null ? null : solveClaimed(parts, claimed, options);
}

/** Carries out a task in hand and ends the claim on it: it is done with, or to go on at once elsewhere. */
export async function solveClaimed(
  parts: SolveDeps,
  claimed: ClaimedTask,
  options: SolveOptions,
): Promise<SolveTask> {
  const { keeper } = parts;
  const { work } = claimed;
  const lost = keeper.hold(work);
  try {
    const ended = await carryOut(parts, claimed, { ...options, lost });
    await endClaim(parts, claimed, { begun: false });
    return ended;
  } catch (error) {
    await parts.pause(AFTER_TROUBLE_MS, options.signal);
    await endClaim(parts, claimed, { begun: true });
    throw error;
  } finally {
    keeper.drop(work);
  }
}

/** What the store says of the task decides: a process may have failed before or after it was written. */
async function endClaim(
  { store, keeper }: SolveDeps,
  { task: { id }, work }: ClaimedTask,
  { begun }: { readonly begun: boolean },
): Promise<void> {
  await keeper.end(async () => {
    const task = await store.find(id);
    if (task?.state === "waiting" || task?.state === "running") return store.handBack(work, { begun });
    return store.finish(work, task?.failure?.kind === "given-up" ? task.failure.message : undefined);
  });
}
