import type { StoredJob } from "../../../application/ports/jobs.ts";
import type { Place } from "../../place.ts";
import { sourceOf } from "../../run-job.ts";
import { takeBackJob } from "../../take-back-job.ts";
import { ToolError } from "../../tool-error.ts";

/** Takes back the last job that this tool made on the path; called again, the one before it. Jobs outlive us. */
export async function undoEdit(place: Place, tool: string) {
  const { workspace, path, given } = place;
  const touches = ({ changes }: StoredJob) => changes.some((change) => change.path === path);
  const last = workspace.archive
    .list()
    .findLast((job) => job.source === sourceOf(tool) && job.state === "committed" && touches(job));
  if (last === undefined) throw new ToolError("NOTHING_TO_UNDO", `no edit of ${given} is left to undo`);
  return takeBackJob(workspace, last.jobId);
}
