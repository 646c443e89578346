import type { HealthReport } from "../../../application/serve/inbox-health.ts";
import type { StoreCounts } from "../../../application/ports/serve.ts";
import type { PageContext } from "../context.ts";
import type { ConfigLine } from "../host.ts";
import { html, type Markup } from "../markup.ts";
import { healthTone } from "../health-tone.ts";
import { page } from "../layout.ts";
import { visible } from "../visible.ts";

export interface SystemView {
  readonly version: string;
  readonly workspace: string;
  readonly upSeconds: number;
  readonly health: HealthReport;
  readonly counts: StoreCounts;
  readonly configuration: readonly ConfigLine[];
}

export function systemPage(context: PageContext, view: SystemView): Markup {
  const { t } = context;
  const { checks } = view.health;
  const bad = checks.filter(({ ok, off }) => !ok && off !== true).length;
  const changed = view.configuration.filter(({ source }) => source !== null);
  return page(context, {
    title: t.systemTitle,
    section: "system",
    body: html`<h1>${t.systemTitle}</h1>
<p class="lead">PicoClaw ${view.version} · ${t.uptime(view.upSeconds)} · <code>${visible(view.workspace)}</code></p>
<section aria-labelledby="health"><h2 id="health">${t.healthTitle}</h2>
<p class="state ${bad === 0 ? "good" : "failed"}">${bad === 0 ? t.allWell : t.notAllWell(bad)}</p>
<ul class="checks">${checks.map((check) => html`<li class="${healthTone(check)}"><strong>${t.healthNames[check.name] ?? check.name}</strong><span>${visible(check.detail)}</span>${!check.ok && check.remedy !== undefined && html`<span class="remedy">→ ${visible(check.remedy)}</span>`}</li>`)}
<li class="good"><strong>${t.healthNames.queue}</strong><span>${t.queue(view.counts.received, view.counts.working, view.counts.waitingReplies)}</span></li></ul></section>
<section aria-labelledby="config"><h2 id="config">${t.configTitle}</h2><p class="note">${t.configIntro}</p>
<h3>${t.configChanged}</h3>${changed.length === 0 ? html`<p class="note">${t.configDefaults}</p>` : table(context, changed)}
<details><summary>${t.configAll} (${view.configuration.length})</summary>${table(context, view.configuration)}</details></section>`,
  });
}

function table({ t }: PageContext, lines: readonly ConfigLine[]): Markup {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${t.configTitle}"><table class="plain"><thead><tr><th scope="col">${t.columns.key}</th><th scope="col">${t.columns.value}</th><th scope="col">${t.columns.source}</th></tr></thead><tbody>${lines.map(
    ({ key, value, source }) =>
      html`<tr><td><code>${key}</code></td><td><code>${visible(value)}</code></td><td class="meta">${source === null ? "" : visible(source)}</td></tr>`,
  )}</tbody></table></div>`;
}
