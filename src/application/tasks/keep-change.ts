import type { SolveWork } from "./solve-work.ts";

const KEEP_MS = 60_000;

/**
 * Keeps the change so far, so that a new container can begin with it. An order to stop does not stop this. Nothing is kept over
 * what was kept before when the container cannot tell its difference any more: a text says why. What is checked and published is
 * kept exactly; that reads every file, which is too slow for each step.
 */
export async function keepChange(work: SolveWork, { exact = false } = {}): Promise<string | null> {
  const { environment } = work;
  if (environment === null) return null;
  const difference = await environment.difference(AbortSignal.timeout(KEEP_MS), { exact });
  if (typeof difference === "string") return difference;
  const { tree } = difference;
  const patch = Buffer.from(difference.patch).toString("base64");
  if (patch === work.task.patch && tree === work.task.tree) return null;
  await work.update({ patch, tree });
  await work.note({ kind: "kept", bytes: difference.patch.length });
  return null;
}
