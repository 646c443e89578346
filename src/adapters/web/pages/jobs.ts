import type { ViewedJob } from "../../../application/inbox/viewer-jobs.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { statusMark, titleOf } from "../parts/job-state.ts";
import { empty, page } from "../parts/layout.ts";
import { moment } from "../parts/times.ts";

export const JOBS_SHOWN = 100;

export function jobsPage(context: PageContext, jobs: readonly ViewedJob[]): Markup {
  const { t } = context;
  return page(context, {
    title: t.jobsTitle,
    section: "jobs",
    ...(jobs.some(({ alive }) => alive) && { refreshSeconds: 5 }),
    body: html`<h1>${t.jobsTitle}</h1>
<div data-live="/live?jobs=1"><div id="jobs" data-part>
${
  jobs.length === 0
    ? empty(t.jobsEmptyTitle, t.jobsEmpty)
    : html`<ul class="rows">${jobs.map((one) => jobRow(context, one))}</ul>`
}
${jobs.length >= JOBS_SHOWN && html`<p class="note">${t.jobsMore(JOBS_SHOWN)}</p>`}
</div></div>`,
  });
}

function jobRow(context: PageContext, viewed: ViewedJob): Markup {
  const { t } = context;
  const { job } = viewed;
  return html`<li><a class="row" href="/jobs/${job.jobId}">${statusMark(context, viewed)}
<span class="title">${titleOf(viewed) || t.untitled}</span>
<span class="meta">${t.commandCount(job.totalCmds)} · ${t.changeCount(job.changes.length)} · ${job.source} · ${moment(context, job.createdAt)}</span></a></li>`;
}
