import type { EnvironmentSummary, TaskSummary } from "../../../application/ports/web.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { empty, page } from "../layout.ts";
import { moment } from "../times.ts";
import { visible } from "../visible.ts";

export function tasksPage(
  context: PageContext,
  tasks: readonly TaskSummary[],
  environments: readonly EnvironmentSummary[],
): Markup {
  const { t } = context;
  return page(context, {
    title: t.tasksTitle,
    section: "tasks",
    body: html`<h1>${t.tasksTitle}</h1>
<div id="tasks" data-part data-every="${tasks.some(({ tone }) => tone === "running") ? RUNNING_S : IDLE_S}">
${
  tasks.length === 0
    ? empty(t.tasksEmptyTitle, t.tasksEmpty)
    : html`<ul class="rows">${tasks.map((task) => taskRow(context, task))}</ul>`
}</div>
<h2>${t.environmentsTitle}</h2>
${
  environments.length === 0
    ? empty(t.environmentsEmptyTitle, t.environmentsEmpty)
    : html`<ul class="rows">${environments.map((one) => html`<li><div class="row"><span class="state ${one.tone}">${one.state}</span><span class="title">${visible(one.name)}</span><span class="meta">${visible(one.image)} · ${moment(context, one.createdAt)}</span></div></li>`)}</ul>`
}`,
  });
}

/** What it is, how far it is, what it used, and what happens in it now. */
function taskRow(context: PageContext, task: TaskSummary): Markup {
  const { t } = context;
  const { step, figures, url } = task;
  const title = visible(task.title);
  return html`<li><div class="row"><span class="state ${task.tone}">${task.state}</span><span class="title">${isWeb(url) ? html`<a href="${url}" rel="noreferrer">${title}</a>` : title}</span><span class="meta">${task.source} · ${moment(context, task.updatedAt)}</span></div>
<div class="meta">${t.taskFigures(step, figures)}${figures.edited.length === 0 ? "" : html` · ${visible(t.taskEdited(figures.edited))}`}</div>
${figures.last === "" ? "" : html`<div class="meta">${visible(figures.last)}</div>`}</li>`;
}

/** Seconds after which the list is read again. */
const RUNNING_S = 2;
const IDLE_S = 20;

/** A link may lead to a web page only, never to a script. */
function isWeb(url: string | undefined): url is string {
  return url !== undefined && /^https?:\/\//.test(url);
}
