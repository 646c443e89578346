import type { JobArchive } from "../ports/jobs.ts";

/** Jobs of one message that were neither discarded nor are still running. */
export function standingJobs(
  archive: Pick<JobArchive, "list">,
  messageId: string,
  noted: readonly string[],
): readonly string[] {
  return archive
    .list()
    .filter(({ jobId, groupId }) => groupId.endsWith(`#${messageId}`) || noted.includes(jobId))
    .filter(({ state }) => state !== "discarded" && state !== "running")
    .map(({ jobId }) => jobId);
}
