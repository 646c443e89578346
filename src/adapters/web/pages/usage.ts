import type { UsageRow } from "../../../application/ports/serve.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { type Bar, bars } from "./bars.ts";
import { empty, page } from "../layout.ts";

export interface UsageView {
  /** Every day of the span, oldest first. */
  readonly days: readonly string[];
  readonly rows: readonly UsageRow[];
}

export function usagePage(context: PageContext, { days, rows }: UsageView): Markup {
  const { t } = context;
  const number = (value: number) => value.toLocaleString(t.locale);
  const money = (value: number) => `$${value.toFixed(value > 0 && value < 0.1 ? 4 : 2)}`;
  const sum = (of: (row: UsageRow) => number, list = rows) => list.reduce((all, row) => all + of(row), 0);
  const chart = (of: (row: UsageRow) => number, show: (value: number) => string): Bar[] =>
    days.map((day) => {
      const mine = rows.filter((row) => row.day === day);
      const [local, cloud] = [mine.filter((row) => row.local), mine.filter((row) => !row.local)];
      return {
        label: day.slice(5),
        title: `${day}: ${show(sum(of, mine))}`,
        parts: [
          { value: sum(of, local), style: "local" },
          { value: sum(of, cloud), style: "cloud" },
        ],
      };
    });
  const tokens = (row: UsageRow) => row.inputTokens + row.outputTokens;
  const cost = (row: UsageRow) => row.costUsd;
  return page(context, {
    title: t.usageTitle,
    section: "usage",
    body: html`<h1>${t.usageTitle}</h1>
${
  rows.length === 0
    ? empty(t.usageEmptyTitle, t.usageEmpty)
    : html`<div class="figures"><div><strong>${number(sum((row) => row.replies))}</strong><span>${t.usageReplies}</span></div><div><strong>${number(sum(tokens))}</strong><span>${t.usageTokens}</span></div><div><strong>${money(sum(cost))}</strong><span>${t.usageCost}</span></div></div>
<p class="legend"><span class="local">${t.usageLocal}</span><span class="cloud">${t.usageCloud}</span></p>
<div class="charts">${bars(t.usageChart(t.usageTokens, days.length), chart(tokens, number), number)}${bars(t.usageChart(t.usageCost, days.length), chart(cost, money), money)}</div>
<div class="scroll" tabindex="0" role="region" aria-label="${t.usageTitle}"><table class="plain"><thead><tr><th scope="col">${t.columns.day}</th><th scope="col">${t.columns.model}</th><th scope="col" class="num">${t.columns.replies}</th><th scope="col" class="num">${t.columns.input}</th><th scope="col" class="num">${t.columns.output}</th><th scope="col" class="num">${t.columns.cost}</th></tr></thead><tbody>
${[...rows].reverse().map((row) => html`<tr><td>${row.day}</td><td>${row.model} <span class="meta">${row.provider} · ${row.local ? t.usageLocal : t.usageCloud}</span></td><td class="num">${number(row.replies)}</td><td class="num">${number(row.inputTokens)}</td><td class="num">${number(row.outputTokens)}</td><td class="num">${money(row.costUsd)}</td></tr>`)}</tbody></table></div>`
}`,
  });
}
