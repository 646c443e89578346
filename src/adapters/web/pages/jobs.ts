import type { Context } from "hono";
import {
  chatOfJob,
  type FoundJobs,
  type JobQuery,
  type ViewedJob,
} from "../../../application/fleet/viewer-jobs.ts";
import { type JobReason, toReason } from "../../../application/history/find-why.ts";
import { isGreenWork, wordCheck, wordUsed } from "../../../application/history/word-why.ts";
import { storedFacts, toEndReason } from "../../../application/jobs/job-facts.ts";
import { giveWay } from "../../../application/platform/give-way.ts";
import { readChatKey } from "../../../application/ports/chat.ts";
import type { JournalLine } from "../../../application/ports/jobs.ts";
import {
  type RunningThing,
  wordRunningThing,
  wordStopped,
} from "../../../application/sandbox/process-report.ts";
import { countFiles, JOB_STATUSES, type JobStatus, nameJob } from "../../../domain/jobs/result.ts";
import { dayFormatter } from "../../../domain/platform/days.ts";
import { historyMessagesFor } from "../../../domain/texts/history.ts";
import { reportMessages } from "../../../domain/texts/jobs.ts";
import {
  wordEnd,
  wordError,
  wordJobBriefly,
  wordJobNotes,
  wordRefusal,
  wordStatus,
} from "../../../domain/texts/jobs-report.ts";
import { runningMessagesFor } from "../../../domain/texts/jobs-running.ts";
import {
  awayDiff,
  type ConflictDiff,
  changesView,
  conflictView,
  type DiffView,
  diffLines,
  type FileDiff,
  fileDiffs,
  folderDiff,
  MOST_FILES,
  noDiff,
  readConflicts,
} from "../diff-view.ts";
import {
  type ActionOutcome,
  actOnJob,
  jobFigures,
  jobTitle,
  machineName,
  statusMark,
  timeline,
  toActionOutcome,
  viewedUndo,
} from "../job-view.ts";
import { empty, noticeBox, page, rereadSeconds } from "../layout.ts";
import { markdown, windowEnd } from "../markdown.ts";
import { actionButton, duration, html, ICONS, type Markup, moment, type Piece, visible } from "../markup.ts";
import type { Notice, PageContext } from "../page-context.ts";
import { type ConsolePages, missingPage, respond, type Web, type WebApp, type WebEnv } from "../web.ts";
import { chatAddress, mayWrite, sessionAddress } from "./chat.ts";
import { lineLinks } from "./why.ts";

interface JobView {
  readonly viewed: ViewedJob;
  readonly journal: readonly JournalLine[];
  /** Null: the machine that holds them is away. */
  readonly files: readonly FileDiff[] | null;
  /** Files that changed in the workspace since the preview was made. */
  readonly conflicts: readonly ConflictDiff[];
  readonly beside: readonly ViewedJob[];
  readonly output: string;
  readonly view: DiffView;
}

function jobPage(
  context: PageContext,
  { viewed, journal, files, conflicts, beside, output, view }: JobView,
): Markup {
  const { t, notice } = context;
  const { job, alive, machine } = viewed;
  const address = `/jobs/${job.jobId}`;
  const work = toReason(job, job.jobId, journal);
  const end = wordEnd(context.words, toEndReason(job, journal)) || lastError(context, viewed, journal);
  const took = Date.parse(job.finishedAt) - Date.parse(job.createdAt);
  const link = (one: DiffView, label: string) =>
    html`<a href="${address}?view=${one}" ${view === one && html`aria-current="true"`}>${label}</a>`;
  return page(context, {
    title: jobTitle(viewed) || t.untitled,
    section: "/jobs",
    wide: true,
    ...(alive && { refreshSeconds: 3 }),
    body: html`<div data-live="/live?job=${job.jobId}">
<p class="crumb"><a href="/jobs">${t.nav.jobs}</a></p>
<div id="head" data-part class="job-head"><div><h1>${jobTitle(viewed) || t.untitled}</h1><p class="meta">${statusMark(context, viewed)} <span>${jobFigures(t, viewed)}</span></p></div>
<div class="actions">${jobButtons(context, viewed)}</div></div>
${end !== "" && html`<p class="note">${visible(end)}</p>`}
${job.request !== undefined && job.request.trim() !== job.title && html`<blockquote class="request" tabindex="0" aria-label="${t.request}">${visible(job.request)}</blockquote>`}
${work.plan !== "" && !isGreenWork(work) && html`<p class="meta">${reportMessages(t.locale).ownWords}</p>`}
${work.plan !== "" && html`<div class="text plan">${markdown(work.plan.slice(0, windowEnd(work.plan, 0)))}</div>`}
${noticeBox(notice, [notice?.together !== undefined && actionButton(context, { action: `${address}/undo`, label: reportMessages(t.locale).together(notice.together), style: "main", fields: { together: notice.together.join(" ") } }), notice?.offerForce && actionButton(context, { action: `${address}/undo`, label: t.undoForce, style: "danger", fields: { force: "1" } })])}
<div id="conflicts" data-part>${conflicts.length > 0 && conflictView(context, job, conflicts)}</div>
<section id="live" class="live" ${!alive && html`hidden`}><h2>${t.liveTitle}</h2><pre class="output" data-output tabindex="0">${visible(output)}</pre></section>
<div class="columns ${view}"><section id="changes" data-part aria-labelledby="changes-title"><div class="section-head"><h2 id="changes-title">${t.changesTitle}</h2>${files !== null && files.length > 0 && html`<div class="choice links">${link("inline", t.viewInline)}${link("split", t.viewSplit)}</div>`}</div>
${files === null ? awayDiff(t) : changesView(t, viewed, { files, journal, view, links: lineLinks(context, job.jobId) })}${files !== null && moreFiles(t, viewed, files.length)}
${wordJobNotes(context.words, storedFacts(job, journal, alive)).map((note) => html`<p class="note">${visible(note)}</p>`)}</section>
<aside><section id="facts" data-part><dl class="facts">
<dt>${t.facts.job}</dt><dd title="${job.jobId}">${nameJob(job)}</dd>
<dt>${t.facts.started}</dt><dd>${moment(context, job.createdAt)}</dd>
${!alive && took >= 0 && html`<dt>${t.facts.took}</dt><dd>${duration(took)}</dd>`}
${machine !== undefined && html`<dt>${t.machine}</dt><dd>${machineName(t, machine)}</dd>`}
<dt>${t.facts.source}</dt><dd>${t.jobSource(job.source)}</dd>
${chatLink(context, chatOfJob(job))}
${workFacts(context, work)}
${job.gitCommit !== undefined && html`<dt>${t.facts.commit}</dt><dd><code>${job.gitCommit.slice(0, 12)}</code></dd>`}
<dt>${t.facts.undo}</dt><dd>${context.words.undoStates[viewedUndo(viewed)]}</dd>
</dl></section>
${beside.length > 0 && html`<section aria-labelledby="beside-title"><h2 id="beside-title">${t.besideTitle}</h2><ul class="beside">${beside.map((one) => html`<li>${statusMark(context, one)} <a href="/jobs/${one.job.jobId}">${jobTitle(one) || t.untitled}</a> <span class="meta">${jobFigures(t, one)}</span></li>`)}</ul></section>`}
<section aria-labelledby="timeline-title"><h2 id="timeline-title">${t.timelineTitle}</h2><div id="timeline" data-part>${timeline(context, journal)}</div></section></aside></div>
</div>`,
  });
}

/** Why the last command failed of a job that changed nothing. */
function lastError({ words }: PageContext, { job }: ViewedJob, journal: readonly JournalLine[]): string {
  if (job.failedCmds === 0 || job.changes.length > 0) return "";
  const failed = journal.findLast(({ event }) => event.type === "command_finished" && !event.success)?.event;
  const error = failed?.type === "command_finished" ? failed.error.replace(/ \(output: .*$/s, "") : "";
  return wordError(words, error.split("\n", 1)[0] ?? "");
}

/** A page shows the first files of a job; the others are counted. Folders are changes without lines. */
function moreFiles(t: PageContext["t"], { job, changeCount }: ViewedJob, shown: number): Markup | null {
  const left = (changeCount ?? countFiles(job.changes)) - shown;
  return shown < MOST_FILES || left <= 0
    ? null
    : html`<p class="note">${t.moreFiles(left)}. ${t.diffNotes["too-large"]}</p>`;
}

/** Where the job was requested: a link to the viewer's own chat, or to the session of another chat. */
function chatLink({ t, viewer }: PageContext, chat: string): Markup | null {
  if (chat === "") return null;
  const key = readChatKey(chat);
  const address =
    key.channel === "web" && mayWrite(viewer, key.chatId) ? chatAddress(key) : sessionAddress(key);
  return html`<dt>${t.nav.chat}</dt><dd><a href="${address}" title="${chat}">${t.openJob}</a></dd>`;
}

function workFacts({ t }: PageContext, work: JobReason): Piece {
  if (work.attempts === 0) return null;
  const texts = historyMessagesFor(t.locale);
  const checks = work.checks.map(
    (one) => html`<div>${one.exitCode === 0 ? "✓" : "✗"} ${visible(wordCheck(texts, one))}</div>`,
  );
  return html`<dt>${t.facts.model}</dt><dd>${visible(work.by)}</dd>
<dt>${t.facts.attempts}</dt><dd>${work.attempts}</dd>
<dt>${t.facts.tests}</dt><dd>${checks.length === 0 ? texts.notChecked : checks}</dd>
${work.costUsd !== null && html`<dt>${t.facts.cost}</dt><dd>${wordUsed(texts, work)}</dd>`}`;
}

function jobButtons(context: PageContext, viewed: ViewedJob): readonly (Markup | false)[] {
  const { t } = context;
  const { job, alive } = viewed;
  const undo = viewedUndo(viewed);
  const action = (verb: string) => `/jobs/${job.jobId}/${verb}`;
  return [
    alive && actionButton(context, { action: action("stop"), label: t.stopJob, style: "danger" }),
    job.state === "staged" &&
      actionButton(context, { action: action("apply"), label: t.applyPreview, style: "main" }),
    job.state === "staged" &&
      actionButton(context, { action: action("discard"), label: t.discard, style: "quiet" }),
    undo === "available" && actionButton(context, { action: action("undo"), label: [ICONS.undo, t.undo] }),
    undo === "undone" && actionButton(context, { action: action("redo"), label: [ICONS.redo, t.redo] }),
  ];
}

interface JobsView {
  readonly found: FoundJobs;
  readonly running: readonly RunningThing[];
  readonly query: JobQuery;
}

/** The others are never those of a job that is listed. */
const STATUSES = JOB_STATUSES.filter((status) => status !== "unended" && status !== "refused");

function runningView(context: PageContext, things: readonly RunningThing[]): Markup {
  const { t } = context;
  return html`<div id="running" data-part data-every="${rereadSeconds(things.length > 0)}">
${things.length > 0 && html`<section aria-labelledby="running-title"><h2 id="running-title">${t.runningTitle}</h2><ul class="rows running">${things.map((thing) => runningRow(context, thing))}</ul></section>`}</div>`;
}

function runningRow(context: PageContext, thing: RunningThing): Markup {
  const { t } = context;
  const words = runningMessagesFor(t.locale);
  const { from, step, latest } = wordRunningThing(thing, words);
  const title = visible(thing.title) || t.untitled;
  const facts = [words.seconds(thing.seconds), from, step].filter((one) => one !== "").map(visible);
  return html`<li ${thing.under !== null && html`class="under"`}><div class="row"><div class="what">
<span class="title">${thing.kind === "job" ? html`<a href="/jobs/${thing.id}">${title}</a>` : title}</span>
<span class="meta">${facts.join(" · ")}</span>
${latest !== "" && html`<code class="latest">${visible(latest)}</code>`}</div>
${actionButton(context, { action: "/running/stop", label: t.stopJob, style: "quiet", fields: { id: thing.id } })}</div></li>`;
}

function jobsPage(context: PageContext, { found, running, query }: JobsView): Markup {
  const { t } = context;
  const { jobs } = found;
  const isNarrowed = [query.text, query.status, query.chat, query.day, query.path].some((one) => one !== "");
  return page(context, {
    title: t.nav.jobs,
    section: "/jobs",
    ...(jobs.some(({ alive }) => alive) && { refreshSeconds: 5 }),
    body: html`<h1>${t.nav.jobs}</h1>
${noticeBox(context.notice)}
${runningView(context, running)}
${(isNarrowed || found.total > 0) && filters(context, found, query)}
<div data-live="/live?jobs=1"><div id="jobs" data-part>
${
  jobs.length === 0
    ? isNarrowed
      ? empty(t.jobsNoneTitle, t.jobsNone, html`<p><a href="/jobs">${t.jobsAll}</a></p>`)
      : empty(t.jobsEmptyTitle, t.jobsEmpty)
    : html`<ul class="rows jobs-list">${jobs.map((one) => jobRow(context, one))}</ul>`
}
${found.pages > 1 && pager(context, found)}
</div></div>`,
  });
}

function filters({ t, words }: PageContext, { chats }: FoundJobs, query: JobQuery): Markup {
  const option = (value: string, label: string, current: string) =>
    html`<option value="${value}" ${value === current && html`selected`}>${label}</option>`;
  const status = (one: JobStatus) =>
    option(
      one,
      one === "partly" ? t.jobsPartly : wordStatus(words, { status: one, failedCmds: 0 }),
      query.status,
    );
  return html`<form class="filters" method="get" action="/jobs" role="search">
<label class="wide"><span>${t.jobsSearch}</span><input type="search" name="q" value="${query.text}" maxlength="200"></label>
<label><span>${t.columns.state}</span><select name="status">${option("", t.jobsAny, query.status)}${STATUSES.map(status)}</select></label>
${chats.length > 0 && html`<label><span>${t.nav.chat}</span><select name="chat">${option("", t.jobsAny, query.chat)}${chats.map((chat) => option(chat, visible(chat), query.chat))}</select></label>`}
<label><span>${t.columns.day}</span><input type="date" name="day" value="${query.day}"></label>
<label><span>${t.jobsFile}</span><input type="text" name="path" value="${query.path}" maxlength="300"></label>
<button type="submit">${t.jobsFind}</button></form>`;
}

function pager({ t, here }: PageContext, { page: at, pages, total }: FoundJobs): Markup {
  const to = (page: number) => {
    const query = new URLSearchParams(here.replace(/^[^?]*/, ""));
    query.delete("flash");
    query.set("page", String(page));
    return `/jobs?${query}`;
  };
  return html`<nav class="pager" aria-label="${t.pages}">${at > 1 && html`<a href="${to(at - 1)}" rel="prev">${t.newer}</a>`}<span>${t.pageOf(at, pages, total)}</span>${at < pages && html`<a href="${to(at + 1)}" rel="next">${t.older}</a>`}</nav>`;
}

function jobRow(context: PageContext, viewed: ViewedJob): Markup {
  const { t } = context;
  const { job, machine } = viewed;
  return html`<li><a class="row" href="/jobs/${job.jobId}">${statusMark(context, viewed)}
<span class="title">${jobTitle(viewed) || t.untitled}</span>
<span class="meta">${[nameJob(job), jobFigures(t, viewed), t.jobSource(job.source)].filter(Boolean).join(" · ")}${machine !== undefined && html` · ${machineName(t, machine)}`} · ${moment(context, job.createdAt)}</span></a></li>`;
}

function jobRoutes(app: WebApp, { host }: Web): void {
  const { viewerJobs } = host;
  app.get("/jobs", async (c) => {
    const query = readPageQuery((name) => c.req.query(name) ?? "");
    const dayOf = dayFormatter(c.var.page.timezone);
    const { viewer } = c.var.person;
    const [found, running] = await Promise.all([
      viewerJobs.find(viewer, query, dayOf),
      viewerJobs.running(viewer),
    ]);
    return respond(jobsPage(c.var.page, { found, running, query }));
  });
  app.get("/jobs/:job", async (c) => {
    const viewed = await viewerJobs.read(c.var.person.viewer, c.req.param("job"));
    if (viewed === null) return missingPage(c.var.page);
    const { jobId } = viewed.job;
    // A job may have thousands of files and events: others have their turn between one piece and the next.
    await giveWay();
    const journal = await viewerJobs.journal(c.var.person.viewer, jobId);
    await giveWay();
    const differences = await viewerJobs.differences(c.var.person.viewer, jobId);
    await giveWay();
    const files = differences === null ? null : await fileDiffs(differences);
    const conflicts = await readConflicts(viewed.job, journal, (path) =>
      viewerJobs.differences(c.var.person.viewer, jobId, path),
    );
    const [output, beside] = await Promise.all([
      viewerJobs.output(jobId, c.var.person.viewer),
      viewerJobs.beside(viewed.job),
    ]);
    await giveWay();
    return respond(
      jobPage(c.var.page, {
        viewed,
        journal,
        conflicts,
        output: host.mask(output),
        files,
        beside,
        view: c.req.query("view") === "split" ? "split" : "inline",
      }),
    );
  });
  // One file's difference, for a card that is unfolded.
  app.get("/jobs/:job/diff", async (c) => {
    const { viewer } = c.var.person;
    const viewed = await viewerJobs.read(viewer, c.req.param("job"));
    if (viewed === null) return missingPage(c.var.page);
    const { t } = c.var.page;
    const { jobId } = viewed.job;
    const path = c.req.query("path") ?? "";
    const found = await viewerJobs.differences(viewer, jobId, path);
    if (found === null) return respond(awayDiff(t));
    const files = await fileDiffs(found);
    const [file] = files;
    if (file === undefined) return respond(noDiff(t, path, await viewerJobs.journal(viewer, jobId)));
    return respond(
      file.path === path
        ? diffLines(t, file, "inline", lineLinks(c.var.page, jobId))
        : folderDiff(t, path, files),
    );
  });
}

function readPageQuery(field: (name: string) => string): JobQuery {
  const page = Number(field("page"));
  return {
    text: field("q").slice(0, 200),
    status: field("status") as JobQuery["status"],
    chat: field("chat"),
    day: field("day"),
    path: field("path"),
    page: Number.isSafeInteger(page) ? page : 1,
  };
}

function jobActionRoutes(app: WebApp, { host, flashes }: Web): void {
  const { viewerJobs } = host;
  /** Back to the list, or to the page of a job, with a notice. */
  const back = (c: Context<WebEnv>, notice: Notice, jobId = "") =>
    c.redirect(`/jobs${jobId && "/"}${encodeURIComponent(jobId)}?${flashes.keep(notice)}`, 303);
  app.post("/jobs/:job/rest", async (c) => {
    const { words, viewer, t } = c.var.page;
    const jobId = c.req.param("job");
    const done = await viewerJobs.applyRest(viewer, jobId);
    if (done.about === "action") {
      const outcome = toActionOutcome(words, done);
      if (outcome.status === 404) return missingPage(c.var.page);
      return back(c, toNotice(outcome), jobId);
    }
    const { facts, left } = done;
    const text = facts.about === "refusal" ? wordRefusal(words, facts) : wordJobBriefly(words, facts);
    const isDone = facts.about === "job" && facts.success;
    const notice = { ok: isDone, text: left.length === 0 ? text : `${text}\n${t.leftOut(left)}` };
    return back(c, notice, facts.about === "job" ? facts.jobId : jobId);
  });
  app.post("/jobs/:job/discard", async (c) => {
    const jobId = c.req.param("job");
    const viewed = await viewerJobs.read(c.var.page.viewer, jobId);
    const { code } = await viewerJobs.act(c.var.page.viewer, "discard", jobId);
    if (viewed === null || code === "unknown-job") return missingPage(c.var.page);
    const { t, words } = c.var.page;
    const text =
      code === "done"
        ? t.discarded
        : code === "not-a-preview"
          ? words.notAPreview(nameJob(viewed.job))
          : t.notDiscarded;
    return back(c, { ok: code === "done", text }, jobId);
  });
  app.post("/running/stop", async (c) => {
    const { words, viewer, t } = c.var.page;
    const id = c.var.form.get("id") ?? "";
    if (/^proc_\d+_[0-9a-f]+$/.test(id)) {
      const stopped = await viewerJobs.stopProcess(viewer, id);
      return back(c, { ok: stopped.status === "stopped", text: wordStopped(stopped, t.locale) });
    }
    return back(c, toNotice(toActionOutcome(words, await viewerJobs.act(viewer, "stop", id))));
  });
  app.post("/jobs/:job/:verb", async (c) => {
    const jobId = c.req.param("job");
    const [verb, force] = [c.req.param("verb"), c.var.form.get("force") === "1"];
    const { words, viewer } = c.var.page;
    let outcome = await actOnJob(host, words, viewer, { jobId, verb, force });
    // The jobs that the button named, if they are still the ones in the way.
    const numbers = outcome?.together?.join(" ");
    if (numbers !== undefined && numbers === c.var.form.get("together"))
      outcome = await actOnJob(host, words, viewer, { jobId: numbers, verb, force });
    if (outcome === null || outcome.status === 404) return missingPage(c.var.page);
    return back(c, toNotice(outcome), jobId);
  });
}

function toNotice({ status: _, code: __, ...notice }: ActionOutcome): Notice {
  return notice;
}

export const jobsPages: ConsolePages = {
  section: { address: "/jobs", icon: ICONS.jobs, label: (t) => t.nav.jobs, first: true },
  routes(app, web) {
    jobRoutes(app, web);
    jobActionRoutes(app, web);
  },
};
