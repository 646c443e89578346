import type { ShownJob } from "../../../application/inbox/job-desk.ts";
import type { JobTone } from "../../../domain/texts/texts.ts";
import { visible } from "./visible.ts";

/** The first line of the plan or the patch, without the marks of a heading. */
export function titleOf({ job }: ShownJob): string {
  return visible(job.title.replace(/^#+\s+/, ""));
}

/** A job's state as a person reads it. */
export function toneOf({ job, alive }: ShownJob): JobTone {
  if (job.state === "running") return alive ? "running" : "interrupted";
  if (job.state === "undone") return "undone";
  if (job.state === "staged") return "preview";
  if (job.outcome === "rolled-back" || job.outcome === "aborted" || job.state === "discarded")
    return "rolled-back";
  if (!job.success) return "failed";
  return job.state === "evicted" ? "evicted" : "succeeded";
}

export function undoOf({ job }: ShownJob): "available" | "unavailable" | "none" | "undone" {
  if (job.state === "undone") return "undone";
  if (job.state === "evicted" || job.kind === "none") return "unavailable";
  return job.state === "committed" && job.changes.length > 0 ? "available" : "none";
}
