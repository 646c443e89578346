import {
  type JobAction,
  type JobActionLabels,
  jobActions,
  jobNamedInButton,
} from "../../domain/jobs/job-actions.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import { isJobId } from "./job-id.ts";
import type { ResultJson } from "./result-json.ts";

type Archive = Pick<JobArchive, "read" | "list">;

/** The job of that id, or the jobs of that group, oldest first. */
export function jobsNamed(archive: Archive, name: string): StoredJob[] {
  if (isJobId(name)) {
    const job = archive.read(name);
    return job === null ? [] : [job];
  }
  return archive.list().filter(({ groupId }) => groupId === name);
}

/** What can be done now with a job or a group. */
export function actionsFor(archive: Archive, name: string, labels: JobActionLabels): JobAction[] {
  return jobActions(jobsNamed(archive, name), labels);
}

/**
 * The buttons of a reply that was stored, as they make sense now: those about jobs are drawn anew from what became of
 * the jobs since, the others stay.
 */
export function presentActions(
  archive: Archive,
  reply: { readonly actions: readonly JobAction[]; readonly jobs: readonly Pick<ResultJson, "job_id">[] },
  labels: JobActionLabels,
): JobAction[] {
  const drawn = new Set<string>();
  return reply.actions.flatMap((action) => {
    const name = jobNamedInButton(action.message);
    if (name === null) return [action];
    if (drawn.has(name)) return [];
    drawn.add(name);
    if (name !== "") return actionsFor(archive, name, labels);
    const own = reply.jobs.map(({ job_id }) => archive.read(job_id)).filter((job) => job !== null);
    return jobActions(own, labels);
  });
}
