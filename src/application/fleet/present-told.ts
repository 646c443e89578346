import type { JobActionLabels } from "../../domain/jobs/job-actions.ts";
import { jobNamedInButton } from "../../domain/jobs/job-actions.ts";
import type { Reply } from "../ports/conversation.ts";
import type { FleetJobs } from "../ports/fleet-jobs.ts";
import { isJobId } from "../jobs/job-id.ts";
import { presentActions } from "../jobs/present-actions.ts";

/** The jobs that a reply is about. */
export function jobsOfReply({ actions, jobs }: Pick<Reply, "actions" | "jobs">): readonly string[] {
  const named = actions.map(({ message }) => jobNamedInButton(message) ?? "").filter(isJobId);
  return [...new Set([...jobs.map(({ job_id }) => job_id), ...named])];
}

/** The buttons of a reply about jobs of another machine, by what that one told of them. */
export async function presentReportedJobs(
  jobs: Pick<FleetJobs, "read" | "ofGroup">,
  reply: Pick<Reply, "actions" | "jobs">,
  labels: JobActionLabels,
): Promise<Reply["actions"]> {
  const told = (await Promise.all(jobsOfReply(reply).map((id) => jobs.read(id)))).filter(
    (one) => one !== null,
  );
  const names = reply.actions.map(({ message }) => jobNamedInButton(message) ?? "");
  const workspace = told[0]?.workspace;
  const groups = names.filter((name) => name !== "" && !isJobId(name));
  const grouped =
    workspace === undefined
      ? []
      : (await Promise.all(groups.map((name) => jobs.ofGroup(name, workspace)))).flat();
  const found = new Map([...told, ...grouped].map(({ job }) => [job.jobId, job]));
  const archive = { read: (id: string) => found.get(id) ?? null, list: () => [...found.values()] };
  return presentActions(archive, reply, labels);
}
