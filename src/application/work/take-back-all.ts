import type { StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/workspace.ts";
import type { TakeBack, TakenBack } from "./take-back.ts";

export type TakenAll =
  | { readonly ok: true; readonly done: readonly TakenBack[] }
  | {
      readonly ok: false;
      readonly stopped: Exclude<TakeBack, { status: "done" }>;
      /** Jobs that could not be swapped back afterwards: none, unless somebody changed their files in between. */
      readonly left: readonly string[];
    };

/**
 * Takes jobs back, or brings them in again, in the given order: all of them or none. What was swapped before one stood
 * in the way is swapped back. A process that dies in between leaves whole jobs, some on either side.
 */
export async function takeBackAll(
  workspace: Pick<Workspace, "takeBack">,
  direction: "undo" | "redo",
  jobs: readonly Pick<StoredJob, "jobId">[],
): Promise<TakenAll> {
  const done: TakenBack[] = [];
  for (const { jobId } of jobs) {
    const taken = await workspace.takeBack({ direction, name: jobId, force: false });
    if (taken.status === "done") {
      done.push(...taken.jobs);
      continue;
    }
    const left: string[] = [];
    const back = direction === "undo" ? "redo" : "undo";
    for (const { job } of done.toReversed()) {
      const swapped = await workspace.takeBack({ direction: back, name: job.jobId, force: false });
      if (swapped.status !== "done") left.push(job.jobId);
    }
    return { ok: false, stopped: taken, left };
  }
  return { ok: true, done };
}
