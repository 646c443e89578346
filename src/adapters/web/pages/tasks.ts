import type { EnvironmentSummary, TaskSummary } from "../../../application/ports/console.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { empty, page } from "../parts/layout.ts";
import { moment } from "../parts/times.ts";
import { visible } from "../parts/visible.ts";

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
${
  tasks.length === 0
    ? empty(t.tasksEmptyTitle, t.tasksEmpty)
    : html`<ul class="rows">${tasks.map((task) => html`<li><div class="row"><span class="state ${task.tone}">${task.state}</span><span class="title">${isWeb(task.url) ? html`<a href="${task.url}" rel="noreferrer">${visible(task.title)}</a>` : visible(task.title)}</span><span class="meta">${task.source} · ${moment(context, task.updatedAt)}</span></div></li>`)}</ul>`
}
<h2>${t.environmentsTitle}</h2>
${
  environments.length === 0
    ? empty(t.environmentsEmptyTitle, t.environmentsEmpty)
    : html`<ul class="rows">${environments.map((one) => html`<li><div class="row"><span class="state ${one.tone}">${one.state}</span><span class="title">${visible(one.name)}</span><span class="meta">${visible(one.image)} · ${moment(context, one.createdAt)}</span></div></li>`)}</ul>`
}`,
  });
}

/** A link may lead to a web page only, never to a script. */
function isWeb(url: string | undefined): url is string {
  return url !== undefined && /^https?:\/\//.test(url);
}
