import type { StoredJob } from "../ports/jobs.ts";

/** The preview that nobody has to name: the only one that waits. Undefined: none does. */
export function waitingPreview(
  jobs: readonly StoredJob[],
): StoredJob | { readonly several: readonly string[] } | undefined {
  const waiting = jobs.filter(({ state, unsettled }) => state === "staged" && unsettled === undefined);
  return waiting.length > 1 ? { several: waiting.map(({ jobId }) => jobId) } : waiting[0];
}
