import type { Work } from "./solve-parts.ts";

const KEEP_MS = 60_000;

/**
 * Keeps the change so far, so that a new container can begin with it. An order to stop does not stop this. Nothing is kept over
 * what was kept before when the container cannot tell its difference any more: a text says why.
 */
export async function keepChange(work: Work): Promise<string | null> {
  const { environment } = work;
  if (environment === null) return null;
  const difference = await environment.difference(AbortSignal.timeout(KEEP_MS));
  if (typeof difference === "string") return difference;
  const patch = Buffer.from(difference).toString("base64");
  if (patch === work.task.patch) return null;
  await work.update({ patch });
  await work.note({ kind: "kept", bytes: difference.length });
  return null;
}
