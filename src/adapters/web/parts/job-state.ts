import type { ShownJob } from "../../../application/inbox/job-desk.ts";
import { listed } from "../../../application/work/report/job-json.ts";
import { wordStatus } from "../../../application/work/report/word-job.ts";
import { type JobStatus, statusOf, type UndoState, undoOf } from "../../../domain/work/job-status.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { visible } from "./visible.ts";

/** The first line of the plan or the patch, without the marks of a heading. */
export function titleOf({ job }: ShownJob): string {
  return visible(job.title.replace(/^#+\s+/, ""));
}

function statusOfShown({ job, alive }: ShownJob): JobStatus {
  return statusOf(listed(job), alive);
}

export function undoOfShown({ job }: ShownJob): UndoState {
  return undoOf(listed(job));
}

/** What became of a job, as a coloured mark. */
export function statusMark({ words }: PageContext, shown: ShownJob): Markup {
  const status = statusOfShown(shown);
  const { failedCmds } = shown.job;
  return html`<span class="state ${status}">${wordStatus(words, { status, failedCmds })}</span>`;
}
