import type { ShownJob } from "../../../application/inbox/job-desk.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { statusMark, titleOf } from "../parts/job-state.ts";
import { empty, page } from "../parts/layout.ts";
import { moment } from "../parts/times.ts";

export const JOBS_SHOWN = 100;

export function jobsPage(context: PageContext, jobs: readonly ShownJob[]): Markup {
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

function jobRow(context: PageContext, shown: ShownJob): Markup {
  const { t } = context;
  const { job } = shown;
  return html`<li><a class="row" href="/jobs/${job.jobId}">${statusMark(context, shown)}
<span class="title">${titleOf(shown) || t.untitled}</span>
<span class="meta">${t.commandCount(job.totalCmds)} · ${t.changeCount(job.changes.length)} · ${job.source} · ${moment(context, job.createdAt)}</span></a></li>`;
}
