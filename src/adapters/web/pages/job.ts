import { chatOfJob } from "../../../application/fleet/find-jobs.ts";
import type { ViewedJob } from "../../../application/fleet/viewer-jobs.ts";
import type { JournalLine } from "../../../application/ports/journal.ts";
import { storedFacts } from "../../../application/jobs/job-facts.ts";
import { wordJobNotes } from "../../../application/jobs/job-report.ts";
import type { PageContext , Notice } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { type ConflictDiff, conflictView } from "../conflict.ts";
import type { FileDiff } from "../diff-view.ts";
import { awayDiff, type DiffView, fileDiffView } from "../parts-diff-view.ts";
import { actionButton } from "../form.ts";
import { ICONS } from "../icons.ts";
import { changesText, jobTitle, machineName, statusMark, viewedUndo } from "../job-state.ts";
import { page } from "../layout.ts";
import { timeline } from "../job-view.ts";
import { duration, moment } from "../times.ts";
import { visible } from "../visible.ts";

export interface JobView {
  readonly viewed: ViewedJob;
  readonly journal: readonly JournalLine[];
  /** Null: they lie on a machine that is away. */
  readonly files: readonly FileDiff[] | null;
  /** Files that changed in the workspace since the preview was made. */
  readonly conflicts: readonly ConflictDiff[];
  /** Other jobs of the same message. */
  readonly beside: readonly ViewedJob[];
  /** What it printed so far, while it runs. */
  readonly output: string;
  readonly view: DiffView;
  readonly notice?: Notice;
}

export function jobPage(
  context: PageContext,
  { viewed, journal, files, conflicts, beside, output, view, notice }: JobView,
): Markup {
  const { t } = context;
  const { job, alive, machine } = viewed;
  const address = `/jobs/${job.jobId}`;
  const took = Date.parse(job.finishedAt) - Date.parse(job.createdAt);
  const link = (one: DiffView, label: string) =>
    html`<a href="${address}?view=${one}" ${view === one && html`aria-current="true"`}>${label}</a>`;
  return page(context, {
    title: jobTitle(viewed) || t.untitled,
    section: "jobs",
    wide: true,
    ...(alive && { refreshSeconds: 3 }),
    body: html`<div data-live="/live?job=${job.jobId}">
<p class="crumb"><a href="/jobs">${t.jobsTitle}</a></p>
<div id="head" data-part class="job-head"><div><h1>${jobTitle(viewed) || t.untitled}</h1><p class="meta">${statusMark(context, viewed)} ${t.commandCount(job.totalCmds)} · ${changesText(t, viewed)}</p></div>
<div class="actions">${jobButtons(context, viewed)}</div></div>
${job.request !== undefined && html`<blockquote class="request" tabindex="0" aria-label="${t.request}">${visible(job.request)}</blockquote>`}
${notice !== undefined && html`<div class="notice ${notice.ok ? "good" : "bad"}" role="status"><p>${notice.text.split("\n").map((line) => [line, html`<br>`])}</p>${notice.offerForce && actionButton(context, { action: `${address}/undo`, label: t.undoForce, style: "danger", fields: { force: "1" } })}</div>`}
<div id="conflicts" data-part>${conflicts.length > 0 && conflictView(context, job, conflicts)}</div>
<section id="live" class="live" ${!alive && html`hidden`}><h2>${t.liveTitle}</h2><pre class="output" data-output tabindex="0">${visible(output)}</pre></section>
<div class="columns ${view}"><section id="changes" data-part aria-labelledby="changes-title"><div class="section-head"><h2 id="changes-title">${t.changesTitle}</h2>${files !== null && files.length > 0 && html`<div class="choice links">${link("inline", t.viewInline)}${link("split", t.viewSplit)}</div>`}</div>
${files === null ? awayDiff(t) : files.length === 0 ? html`<p class="note">${t.noChanges}</p>` : files.map((file) => fileDiffView(t, file, view))}
${wordJobNotes(context.words, storedFacts(job, journal, alive)).map((note) => html`<p class="note">${visible(note)}</p>`)}</section>
<aside><section id="facts" data-part><dl class="facts">
<dt>${t.facts.job}</dt><dd><code>${job.jobId}</code></dd>
<dt>${t.facts.started}</dt><dd>${moment(context, job.createdAt)}</dd>
${!alive && took >= 0 && html`<dt>${t.facts.took}</dt><dd>${duration(took)}</dd>`}
${machine !== undefined && html`<dt>${t.machine}</dt><dd>${machineName(t, machine)}</dd>`}
<dt>${t.facts.source}</dt><dd>${job.source}</dd>
${chatLink(context, chatOfJob(job))}
${attemptsView(journal) > 1 && html`<dt>${t.facts.attempts}</dt><dd>${attemptsView(journal)}</dd>`}
<dt>${t.facts.kind}</dt><dd>${job.kind}</dd>
${job.gitCommit !== undefined && html`<dt>${t.facts.commit}</dt><dd><code>${job.gitCommit.slice(0, 12)}</code></dd>`}
<dt>${t.facts.undo}</dt><dd>${t.undoStates[viewedUndo(viewed)]}</dd>
</dl></section>
${beside.length > 0 && html`<section aria-labelledby="beside-title"><h2 id="beside-title">${t.besideTitle}</h2><ul class="beside">${beside.map((one) => html`<li>${statusMark(context, one)} <a href="/jobs/${one.job.jobId}">${jobTitle(one) || t.untitled}</a> <span class="meta">${changesText(t, one)}</span></li>`)}</ul></section>`}
<section aria-labelledby="timeline-title"><h2 id="timeline-title">${t.timelineTitle}</h2><div id="timeline" data-part>${timeline(context, journal)}</div></section></aside></div>
</div>`,
  });
}

/** Where it was asked for: a chat of one's own, or what was said elsewhere. */
function chatLink({ t, viewer }: PageContext, chat: string): Markup | null {
  if (chat === "") return null;
  const at = chat.indexOf(":");
  const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
  const isOwn = channel === "web" && (chatId === viewer.userId || chatId.startsWith(`${viewer.userId}.`));
  const address = isOwn
    ? `/chat/${encodeURIComponent(chatId)}`
    : `/sessions/${encodeURIComponent(channel)}/${encodeURIComponent(chatId)}`;
  return html`<dt>${t.chatTitle}</dt><dd><a href="${address}">${visible(chat)}</a></dd>`;
}

function attemptsView(journal: readonly JournalLine[]): number {
  return Math.max(0, ...journal.map(({ event }) => ("attempt" in event ? (event.attempt ?? 0) : 0)));
}

function jobButtons(context: PageContext, viewed: ViewedJob): readonly (Markup | false)[] {
  const { t } = context;
  const { job, alive } = viewed;
  const action = (verb: string) => `/jobs/${job.jobId}/${verb}`;
  return [
    alive && actionButton(context, { action: action("stop"), label: t.stopJob, style: "danger" }),
    job.state === "staged" &&
      actionButton(context, { action: action("apply"), label: t.applyPreview, style: "main" }),
    job.state === "staged" &&
      actionButton(context, { action: action("discard"), label: t.discard, style: "quiet" }),
    viewedUndo(viewed) === "available" &&
      actionButton(context, { action: action("undo"), label: [ICONS.undo, t.undo] }),
    job.state === "undone" && actionButton(context, { action: action("redo"), label: [ICONS.redo, t.redo] }),
  ];
}
