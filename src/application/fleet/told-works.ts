import { oneLine } from "../../domain/jobs/format-results.ts";
import { type LiveWork, lastLines, NOTHING_LIVE } from "../serve/serve-events.ts";
import type { FleetJobs, TailedJob } from "../ports/fleet-jobs.ts";

/** What is seen of messages that other processes answer, by what these told of the jobs that run. */
export async function reportedWorks(
  jobs: Pick<FleetJobs, "atWork">,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, LiveWork>> {
  if (messageIds.length === 0) return new Map();
  const works = new Map<string, LiveWork>();
  for (const job of await jobs.atWork(messageIds)) works.set(job.messageId, toLiveWork(job));
  return works;
}

function toLiveWork({ jobId, events, tail }: TailedJob): LiveWork {
  const last = events.findLast(({ event }) => /^command_(started|finished)$/.test(event.type))?.event;
  const running = last?.type === "command_started" ? last.command : null;
  return {
    ...NOTHING_LIVE,
    event: { type: "job-started", jobId },
    command: running === null ? "" : `${running.type} ${running.action} ${oneLine(running.target)}`,
    lines: running === null ? "" : lastLines(tail),
  };
}
