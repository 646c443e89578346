import { csvOfFigures, figureCells } from "../../../application/history/word-why.ts";
import type { EnvironmentSummary } from "../../../application/ports/containers.ts";
import type { FigureRow, WorkFigures } from "../../../application/ports/history-opened.ts";
import type { HealthReport, StoreCounts } from "../../../application/ports/serve.ts";
import type { TaskSummary } from "../../../application/ports/tasks.ts";
import { formatCost } from "../../../domain/texts/format-text.ts";
import { historyMessagesFor } from "../../../domain/texts/history.ts";
import { channelTitle } from "../../channels/registry.ts";
import type { ConfigLine } from "../host.ts";
import { empty, page, rereadSeconds } from "../layout.ts";
import { healthTone, html, ICONS, type Markup, moment, type Piece, visible } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, respond } from "../web.ts";

interface SystemView {
  readonly version: string;
  readonly workspace: string;
  readonly upSeconds: number;
  readonly health: HealthReport;
  readonly counts: StoreCounts;
  readonly configuration: readonly ConfigLine[];
}

function systemPage(context: PageContext, view: SystemView): Markup {
  const { t } = context;
  const { checks } = view.health;
  const bad = checks.filter(({ ok, off }) => !ok && off !== true).length;
  const isAllSetUp = checks.every(({ off }) => off !== true);
  const changed = view.configuration.filter(({ source, next }) => source !== null || next !== undefined);
  const waits = changed.some(({ next }) => next !== undefined);
  return page(context, {
    title: t.nav.system,
    section: "/system",
    body: html`<h1>${t.nav.system}</h1>
<p class="lead">PicoClaw ${view.version} · ${t.uptime(view.upSeconds)} · <code>${visible(view.workspace)}</code></p>
<section aria-labelledby="health"><h2 id="health">${t.healthTitle}</h2>
<p class="state ${bad === 0 ? "good" : "failed"}">${bad === 0 ? t.allWell(isAllSetUp) : t.notAllWell(bad)}</p>
<ul class="checks">${checks.map((check) => html`<li class="${healthTone(check)}"><strong>${t.healthNames[check.name] ?? channelTitle(check.name.replace(/^channel /, "")) ?? check.name}</strong><span>${visible(t.healthDetails[check.detail] ?? check.detail)}</span>${!check.ok && check.remedy !== undefined && html`<span class="remedy">→ ${visible(check.remedy)}</span>`}</li>`)}
<li class="good"><strong>${t.healthNames.queue}</strong><span>${t.queue(view.counts.received, view.counts.working, view.counts.waitingReplies)}</span></li></ul></section>
<section aria-labelledby="config"><h2 id="config">${t.configTitle}</h2><p class="note">${t.configIntro}</p>${waits && html`<p class="notice warn" role="status">${t.configWaits}</p>`}
<h3>${t.configChanged}</h3>${changed.length === 0 ? html`<p class="note">${t.configDefaults}</p>` : table(context, changed)}
<details><summary>${t.configAll} (${view.configuration.length})</summary>${table(context, view.configuration)}</details></section>`,
  });
}

function table({ t }: PageContext, lines: readonly ConfigLine[]): Markup {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${t.configTitle}"><table class="plain config"><thead><tr><th scope="col">${t.columns.key}</th><th scope="col">${t.columns.value}</th><th scope="col">${t.columns.source}</th></tr></thead><tbody>${lines.map(
    ({ key, value, source, next }) =>
      html`<tr><td><code>${key}</code></td><td><code>${visible(value)}</code>${next !== undefined && html`<br><span class="note">${t.configNext} <code>${visible(next)}</code></span>`}</td><td class="meta">${source === null ? "" : visible(source)}</td></tr>`,
  )}</tbody></table></div>`;
}

function tasksPage(
  context: PageContext,
  tasks: readonly TaskSummary[],
  environments: readonly EnvironmentSummary[],
): Markup {
  const { t } = context;
  return page(context, {
    title: t.nav.tasks,
    section: "/tasks",
    body: html`<h1>${t.nav.tasks}</h1>
<div id="tasks" data-part data-every="${rereadSeconds(tasks.some(({ tone }) => tone === "running"))}">
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

function taskRow(context: PageContext, task: TaskSummary): Markup {
  const { t } = context;
  const { step, figures, url } = task;
  const title = visible(task.title);
  return html`<li><div class="row"><span class="state ${task.tone}">${t.taskState(task.state)}</span><span class="title">${isWeb(url) ? html`<a href="${url}" rel="noreferrer">${title}</a>` : title}</span><span class="meta">${task.source} · ${moment(context, task.updatedAt)}</span></div>
<div class="meta">${t.taskFigures(step, figures)}${figures.edited.length === 0 ? "" : html` · ${visible(t.taskEdited(figures.edited))}`}</div>
${figures.last === "" ? "" : html`<div class="meta">${visible(figures.last)}</div>`}</li>`;
}

/** A link may lead to a web page only, never to a script. */
function isWeb(url: string | undefined): url is string {
  return url !== undefined && /^https?:\/\//.test(url);
}

interface Bar {
  readonly label: string;
  /** The class of each part has its colour. */
  readonly parts: readonly { readonly value: number; readonly style: string }[];
  readonly title: string;
}

const [WIDTH, HEIGHT, BASE] = [640, 160, 138];

/** A chart of one bar a day, drawn without a library, unless all are zero; the table below it has the same figures. */
function bars(title: string, days: readonly Bar[], mostText: (value: number) => string): Markup | null {
  const total = (bar: Bar) => bar.parts.reduce((sum, { value }) => sum + value, 0);
  const most = Math.max(...days.map(total), 0);
  if (most === 0) return null;
  const step = WIDTH / days.length;
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}" preserveAspectRatio="none">
<line x1="0" y1="${BASE}" x2="${WIDTH}" y2="${BASE}" class="axis"/>
${days.map((bar, n) => {
  let from = BASE;
  return html`<g><title>${bar.title}</title>${bar.parts.map(({ value, style }) => {
    const height = value > 0 ? Math.max(2, (value / most) * (BASE - 14)) : 0;
    from -= height;
    return (
      height > 0 &&
      html`<rect x="${(n * step + step * 0.15).toFixed(1)}" y="${from.toFixed(1)}" width="${(step * 0.7).toFixed(1)}" height="${height.toFixed(1)}" rx="2" class="${style}"/>`
    );
  })}</g>`;
})}
</svg><div class="ends"><span>${days[0]?.label}</span><span>${mostText(most)}</span><span>${days.at(-1)?.label}</span></div></figure>`;
}

const COLOURS = 6;

function usagePage(context: PageContext, { rows, days, models, total }: WorkFigures): Markup {
  const { t } = context;
  const texts = historyMessagesFor(t.locale);
  const styleOf = (model: string) => {
    const at = shown.findIndex((one) => one.model === model);
    return `m${at === -1 ? COLOURS - 1 : Math.min(at, COLOURS - 1)}`;
  };
  const shown = models.filter(({ requests }) => requests > 0);
  const money = (value: number) => formatCost(value, false);
  const byModel = (of: (row: FigureRow) => number, show: (value: number) => string): Bar[] =>
    days.map((day) => ({
      label: day.day.slice(5),
      title: `${day.day}: ${show(of(day))}`,
      parts: shown.map(({ model }) => ({
        value: rows
          .filter((row) => row.day === day.day && row.model === model)
          .reduce((sum, row) => sum + of(row), 0),
        style: styleOf(model),
      })),
    }));
  const tokens = (row: FigureRow) => row.inputTokens + row.outputTokens;
  const outcomes = days.map((day) => ({
    label: day.day.slice(5),
    title: `${day.day}: ${figureCells(texts, day).slice(3).join(" · ")}`,
    parts: [
      { value: day.firstTry, style: "good" },
      { value: day.checked - day.firstTry, style: "m2" },
      { value: Math.max(0, day.jobs - day.checked), style: "plain" },
    ],
  }));
  const undone = days.map((day) => ({
    label: day.day.slice(5),
    title: `${day.day}: ${day.undone}`,
    parts: [{ value: day.undone, style: "bad" }],
  }));
  const [requests, all, cost, jobs, firstTry, back] = figureCells(texts, total);
  const figure = (value: string | undefined, label: string | undefined) =>
    html`<div><strong>${value}</strong><span>${label}</span></div>`;
  const table = (name: string, list: readonly FigureRow[], first: (row: FigureRow) => Piece) =>
    html`<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table class="plain"><thead><tr><th scope="col">${name}</th>${texts.figureHeader.slice(1).map((one) => html`<th scope="col" class="num">${one}</th>`)}</tr></thead><tbody>
${list.map((row) => html`<tr><td>${first(row)}</td>${figureCells(texts, row).map((cell) => html`<td class="num">${cell}</td>`)}</tr>`)}</tbody></table></div>`;
  const nameOf = ({ model }: FigureRow) => (model === "" ? texts.noModel : visible(model));
  const key = (style: string, label: string) => html`<span class="${style}">${label}</span>`;
  const chartOf = (label: string) => t.usageChart(label, days.length);
  const { number } = texts;
  const mostOf = (show: (value: number) => string) => (value: number) => t.usageMost(show(value));
  return page(context, {
    title: t.nav.usage,
    section: "/usage",
    body: html`<div class="section-head"><h1>${t.nav.usage}</h1>${rows.length > 0 && html`<a href="/usage.csv" download>${t.usageCsv}</a>`}</div>
${
  rows.length === 0
    ? empty(t.usageEmptyTitle, t.usageEmpty)
    : html`<div class="figures">${figure(requests, texts.figureHeader[1])}${figure(all, t.usageTokens)}${figure(cost, t.usageCost)}${figure(jobs, texts.figureHeader[4])}${figure(firstTry, texts.figureHeader[5])}${figure(back, texts.figureHeader[6])}</div>
<p class="legend">${shown.slice(0, COLOURS).map((row, n) => key(`m${n}`, n === COLOURS - 1 && shown.length > COLOURS ? t.usageOthers : nameOf(row)))}</p>
<div class="charts">${bars(
        chartOf(t.usageCost),
        byModel((row) => row.costUsd, money),
        mostOf(money),
      )}${bars(chartOf(t.usageTokens), byModel(tokens, number), mostOf(number))}</div>
<p class="legend">${key("good", texts.figureHeader[5] ?? "")}${key("m2", t.usageLater)}${key("plain", t.usageUnchecked)}${key("bad", texts.figureHeader[6] ?? "")}</p>
<div class="charts">${bars(chartOf(texts.figureHeader[4] ?? ""), outcomes, mostOf(number))}${bars(chartOf(texts.figureHeader[6] ?? ""), undone, mostOf(number))}</div>
${table(texts.statsModel, models, nameOf)}
<details><summary>${t.usageByDay}</summary>${table(texts.statsDay, [...rows].reverse(), (row) => html`${row.day} <span class="meta">${nameOf(row)}</span>`)}</details>`
}`,
  });
}

const USAGE_DAYS = 30;

export const tasksPages: ConsolePages = {
  section: { address: "/tasks", icon: ICONS.tasks, label: (t) => t.nav.tasks, operatorsOnly: true },
  routes(app, { host }) {
    app.get("/tasks", async (c) => {
      const { tasks, environments } = host.sources();
      return respond(
        tasksPage(c.var.page, (await tasks?.list(50)) ?? [], (await environments?.list()) ?? []),
      );
    });
  },
};

export const usagePages: ConsolePages = {
  section: { address: "/usage", icon: ICONS.usage, label: (t) => t.nav.usage },
  routes(app, { host }) {
    app.get("/usage", async (c) =>
      respond(usagePage(c.var.page, await host.readFigures(c.var.page.viewer, USAGE_DAYS))),
    );
    app.get("/usage.csv", async (c) => {
      const { rows } = await host.readFigures(c.var.page.viewer, USAGE_DAYS);
      return new Response(csvOfFigures(rows), {
        headers: {
          "content-type": "text/csv; charset=utf-8",
          "content-disposition": 'attachment; filename="picoclaw-usage.csv"',
        },
      });
    });
  },
};

export const systemPages: ConsolePages = {
  section: { address: "/system", icon: ICONS.system, label: (t) => t.nav.system, operatorsOnly: true },
  routes(app, { host }) {
    app.get("/system", async (c) =>
      respond(
        systemPage(c.var.page, {
          version: host.version,
          workspace: host.workspace(),
          upSeconds: Math.floor((host.now().getTime() - host.startedAt.getTime()) / 1_000),
          health: await host.health(),
          counts: await host.messages.counts(),
          configuration: await host.configuration(),
        }),
      ),
    );
  },
};
