import type { CompareResult, ContestantResult } from "../../../application/history/compare.ts";
import { contestantCells, wordPair } from "../../../application/history/word-why.ts";
import type { PlayRecord } from "../../../application/ports/history.ts";
import { type HistoryMessages, historyMessagesFor } from "../../../domain/texts/history.ts";
import { empty, page } from "../layout.ts";
import { html, ICONS, type Markup, visible } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, respond } from "../web.ts";

const SHOWN_RUNS = 12;
const SHOWN_CASES = 20;
const [WIDTH, ROW, LEFT] = [360, 36, 8];

function comparePage(context: PageContext, results: readonly CompareResult[]): Markup {
  const texts = historyMessagesFor(context.t.locale);
  const [latest, ...earlier] = results;
  return page(context, {
    title: context.t.nav.compare,
    section: "/compare",
    body: html`<h1>${texts.compareTitle}</h1>
${latest === undefined ? empty(texts.compareEmptyTitle, texts.compareEmpty) : resultBody(texts, latest, earlier)}`,
  });
}

function resultBody(
  texts: HistoryMessages,
  result: CompareResult,
  earlier: readonly CompareResult[],
): Markup {
  const { contestants, pairs, differing } = result;
  const said = pairs.map((pair) => wordPair(texts, pair));
  return html`<p class="meta">${result.run}</p>
<div class="charts">${sharesPlot(texts.solvedShare, contestants)}${earlier.length > 0 && driftPlot(texts.driftTitle, [...earlier].reverse().concat(result), contestants)}</div>
${said.map((line) => html`<p>${visible(line)}</p>`)}
<div class="scroll" tabindex="0" role="region" aria-label="${texts.compareTitle}"><table class="plain"><thead><tr>${texts.compareHeader.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>
${contestants.map((one) => html`<tr>${cellsOf(texts, one).map((cell) => html`<td>${visible(cell)}</td>`)}</tr>`)}</tbody></table></div>
${differing.length > 0 && html`<h2>${texts.differingTitle}</h2>${differing.slice(0, SHOWN_CASES).map(({ case: id, plays }) => html`<details><summary><code>${visible(id)}</code> ${plays.map(signOf).join("  ")}</summary><div class="charts">${plays.map((play) => html`<div><p>${visible(signOf(play))}</p><pre class="output" tabindex="0">${visible(play.diff)}</pre></div>`)}</div></details>`)}`}`;
}

const signOf = ({ solved, contestant }: PlayRecord) => `${solved ? "✓" : "✗"} ${contestant}`;

const percent = (share: number) => `${Math.round(share * 100)} %`;
const shareOf = ({ solved, plays }: ContestantResult) => (plays === 0 ? 0 : solved / plays);

const cellsOf = (texts: HistoryMessages, one: ContestantResult) =>
  contestantCells(texts, one, ({ low, high }) => `${percent(low)} – ${percent(high)}`);

function sharesPlot(title: string, contestants: readonly ContestantResult[]): Markup {
  const at = (share: number) => (LEFT + share * (WIDTH - 2 * LEFT)).toFixed(1);
  const height = contestants.length * ROW + 8;
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">
${contestants.map((one, n) => {
  const y = n * ROW + 26;
  const label = `${one.name}: ${percent(shareOf(one))} (${percent(one.interval.low)} – ${percent(one.interval.high)})`;
  return html`<g><title>${visible(label)}</title><text x="${LEFT}" y="${y - 10}" font-size="12" fill="currentColor">${visible(label)}</text><line x1="${at(one.interval.low)}" x2="${at(one.interval.high)}" y1="${y}" y2="${y}" stroke="currentColor" stroke-opacity="0.4" stroke-width="2"/><rect x="${at(shareOf(one))}" y="${y - 5}" width="4" height="10" rx="2" class="m1"/></g>`;
})}</svg><div class="ends"><span>0 %</span><span>50 %</span><span>100 %</span></div></figure>`;
}

function driftPlot(
  title: string,
  runs: readonly CompareResult[],
  contestants: readonly ContestantResult[],
): Markup {
  const step = (WIDTH - 2 * LEFT) / Math.max(1, runs.length - 1);
  const place = (n: number, share: number) =>
    `${(LEFT + n * step).toFixed(1)},${(130 - share * 110).toFixed(1)}`;
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${WIDTH} 140" role="img" aria-label="${title}"><line x1="0" y1="130" x2="${WIDTH}" y2="130" class="axis"/>
${contestants.map(({ name }) => {
  const points = runs.flatMap((run, n) => {
    const one = run.contestants.find((other) => other.name === name);
    return one === undefined || one.plays === 0 ? [] : [place(n, shareOf(one))];
  });
  return html`<g><title>${visible(name)}</title><polyline points="${points.join(" ")}" fill="none" stroke="currentColor" stroke-width="2"/><text x="${LEFT}" y="${Number(points[0]?.split(",")[1] ?? 0) - 4}" font-size="11" fill="currentColor">${visible(name)}</text></g>`;
})}</svg><div class="ends"><span>${runs[0]?.run}</span><span>${runs.at(-1)?.run}</span></div></figure>`;
}

/** The comparisons of coders on the workspace's own cases. Requests and differences are the operators'. */
export const comparePages: ConsolePages = {
  section: { address: "/compare", icon: ICONS.compare, label: (t) => t.nav.compare, operatorsOnly: true },
  routes(app, { host }) {
    app.get("/compare", (c) =>
      respond(comparePage(c.var.page, host.sources().comparisons?.list(SHOWN_RUNS) ?? [])),
    );
  },
};
