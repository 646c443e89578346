import type { FoundJobs, JobQuery } from "../../../application/fleet/find-jobs.ts";
import type { ViewedJob } from "../../../application/fleet/viewer-jobs.ts";
import { wordStatus } from "../../../application/jobs/job-report.ts";
import type { JobStatus } from "../../../domain/jobs/job-status.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { changesText, jobTitle, machineName, statusMark } from "../job-state.ts";
import { empty, page } from "../layout.ts";
import { moment } from "../times.ts";
import { visible } from "../visible.ts";

const STATUSES: readonly JobStatus[] = [
  "applied",
  "partly",
  "preview",
  "worse",
  "stopped",
  "no-change",
  "taken-back",
  "running",
  "interrupted",
];

export function jobsPage(context: PageContext, found: FoundJobs<ViewedJob>, query: JobQuery): Markup {
  const { t } = context;
  const { jobs } = found;
  const isNarrowed = [query.text, query.status, query.chat, query.day, query.path].some((one) => one !== "");
  return page(context, {
    title: t.jobsTitle,
    section: "jobs",
    ...(jobs.some(({ alive }) => alive) && { refreshSeconds: 5 }),
    body: html`<h1>${t.jobsTitle}</h1>
${(isNarrowed || found.total > 0) && filters(context, found, query)}
<div data-live="/live?jobs=1"><div id="jobs" data-part>
${
  jobs.length === 0
    ? isNarrowed
      ? empty(t.jobsNoneTitle, t.jobsNone, html`<p><a href="/jobs">${t.jobsAll}</a></p>`)
      : empty(t.jobsEmptyTitle, t.jobsEmpty)
    : html`<ul class="rows">${jobs.map((one) => jobRow(context, one))}</ul>`
}
${found.pages > 1 && pager(context, found, query)}
</div></div>`,
  });
}

function filters({ t, words }: PageContext, { chats }: FoundJobs<ViewedJob>, query: JobQuery): Markup {
  const option = (value: string, label: string, current: string) =>
    html`<option value="${value}" ${value === current && html`selected`}>${label}</option>`;
  const status = (one: JobStatus) =>
    option(one, wordStatus(words, { status: one, failedCmds: 1 }), query.status);
  return html`<form class="filters" method="get" action="/jobs" role="search">
<label class="wide"><span>${t.jobsSearch}</span><input type="search" name="q" value="${query.text}" maxlength="200"></label>
<label><span>${t.columns.state}</span><select name="status">${option("", t.jobsAny, query.status)}${STATUSES.map(status)}</select></label>
${chats.length > 0 && html`<label><span>${t.chatTitle}</span><select name="chat">${option("", t.jobsAny, query.chat)}${chats.map((chat) => option(chat, visible(chat), query.chat))}</select></label>`}
<label><span>${t.columns.day}</span><input type="date" name="day" value="${query.day}"></label>
<label><span>${t.jobsFile}</span><input type="text" name="path" value="${query.path}" maxlength="300"></label>
<button type="submit">${t.jobsFind}</button></form>`;
}

function pager(
  { t }: PageContext,
  { page: at, pages, total }: FoundJobs<ViewedJob>,
  query: JobQuery,
): Markup {
  const to = (page: number) => {
    const fields = {
      q: query.text,
      status: query.status,
      chat: query.chat,
      day: query.day,
      path: query.path,
    };
    const kept = Object.entries(fields).filter(([, value]) => value !== "");
    return `/jobs?${new URLSearchParams([...kept, ["page", String(page)]])}`;
  };
  return html`<nav class="pager" aria-label="${t.pages}">${at > 1 && html`<a href="${to(at - 1)}" rel="prev">${t.newer}</a>`}<span>${t.pageOf(at, pages, total)}</span>${at < pages && html`<a href="${to(at + 1)}" rel="next">${t.older}</a>`}</nav>`;
}

function jobRow(context: PageContext, viewed: ViewedJob): Markup {
  const { t } = context;
  const { job, machine } = viewed;
  return html`<li><a class="row" href="/jobs/${job.jobId}">${statusMark(context, viewed)}
<span class="title">${jobTitle(viewed) || t.untitled}</span>
<span class="meta">${t.commandCount(job.totalCmds)} · ${changesText(t, viewed)} · ${job.source}${machine !== undefined && html` · ${machineName(t, machine)}`} · ${moment(context, job.createdAt)}</span></a></li>`;
}
