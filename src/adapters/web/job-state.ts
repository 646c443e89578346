import type { ViewedJob } from "../../application/fleet/viewer-jobs.ts";
import { toListedJob } from "../../application/jobs/job-json.ts";
import { wordStatus } from "../../application/jobs/job-report.ts";
import { type JobStatus, toJobStatus, toUndoState, type UndoState } from "../../domain/jobs/job-status.ts";
import type { PageContext } from "./context.ts";
import { html, type Markup } from "./markup.ts";
import { visible } from "./visible.ts";

/** The first line of the plan or the patch, without the marks of a heading. */
export function jobTitle({ job }: ViewedJob): string {
  return visible(job.title.replace(/^#+\s+/, ""));
}

export function viewedStatus({ job, alive }: ViewedJob): JobStatus {
  return toJobStatus(toListedJob(job), alive);
}

export function viewedUndo({ job }: ViewedJob): UndoState {
  return toUndoState(toListedJob(job));
}

/** How much a job changed; of another machine's job the first changes only may be known here. */
export function changesText(t: PageContext["t"], { job, changeCount }: ViewedJob): string {
  const known = job.changes.length;
  return changeCount === undefined ? t.changeCount(known) : t.changeCountOf(known, changeCount);
}

/** What became of a job, as a coloured mark. */
export function statusMark({ words }: PageContext, viewed: ViewedJob): Markup {
  const status = viewedStatus(viewed);
  const { failedCmds } = viewed.job;
  return html`<span class="state ${status}">${wordStatus(words, { status, failedCmds })}</span>`;
}

/** Where a job was carried out, and whether anybody answers there. */
export function machineName(t: PageContext["t"], { name, here }: NonNullable<ViewedJob["machine"]>): string {
  return here ? visible(name) : t.machineAway(visible(name));
}
