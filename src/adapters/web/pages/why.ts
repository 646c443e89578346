import type { JobReason, SeenInJob } from "../../../application/history/find-why.ts";
import { wordWhy } from "../../../application/history/word-why.ts";
import type { StoredJob } from "../../../application/ports/jobs.ts";
import type { Viewer } from "../../../application/serve/access.ts";
import { nameJob } from "../../../domain/jobs/result.ts";
import { historyMessagesFor } from "../../../domain/texts/history.ts";
import type { LineLinks } from "../diff-view.ts";
import type { FoundWhy, WebHost } from "../host.ts";
import { page } from "../layout.ts";
import { html, type Markup, visible, visiblePath } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, missingPage, respond } from "../web.ts";

const AROUND = 20;

/** The numbers of a job's difference lead to who wrote the line, and its files to the editor that runs here. */
export function lineLinks({ openIn }: PageContext, jobId: string): LineLinks {
  return {
    why: (path, line, side) =>
      `/jobs/${encodeURIComponent(jobId)}/why?${new URLSearchParams({ path, line: String(line), side })}`,
    editor: openIn,
  };
}

interface WhyView {
  readonly job: StoredJob;
  readonly path: string;
  readonly line: number;
  readonly seen: SeenInJob;
  readonly found: FoundWhy;
}

function whyPage(context: PageContext, { job, path, line, seen, found: { why, lines } }: WhyView): Markup {
  const { t } = context;
  const { why: address, editor } = lineLinks(context, seen.jobId);
  const first = Math.max(1, line - AROUND);
  const origin = why.ok && why.origin.kind === "job" ? why.origin.job.jobId : null;
  const name = visiblePath(path);
  const title = `${name}:${line}`;
  return page(context, {
    title,
    section: "/jobs",
    wide: true,
    body: html`<p class="crumb"><a href="/jobs">${t.nav.jobs}</a> · <a href="/jobs/${encodeURIComponent(seen.jobId)}">${nameJob(job)}</a></p>
<h1>${t.whyLine}</h1>
<pre class="output wrap" tabindex="0">${visible(wordWhy(historyMessagesFor(t.locale), name, why))}</pre>
<p class="actions">${origin !== null && origin !== seen.jobId && html`<a href="/jobs/${encodeURIComponent(origin)}">${t.openJob}</a>`}${editor !== null && html` <a href="${editor(path, line)}">${t.openInEditor}</a>`}</p>
<div class="diff"><div class="scroll" tabindex="0" role="region" aria-label="${title}"><table class="lines inline"><caption class="unseen">${name}</caption><tbody>${lines
      .slice(first - 1, line + AROUND)
      .map((text, n) => {
        const at = first + n;
        return html`<tr ${at === line && html`class="added" id="line"`}><td class="n"><a href="${address(path, at, seen.side)}">${at}</a></td><td class="t">${visible(text)}</td></tr>`;
      })}</tbody></table></div></div>`,
  });
}

/** For a job of another user, the page shows only that it wrote the line. */
async function hideOthersWords(
  { viewerJobs }: Pick<WebHost, "viewerJobs">,
  viewer: Viewer,
  found: FoundWhy,
): Promise<FoundWhy> {
  const { why } = found;
  if (!why.ok || why.origin.kind !== "job") return found;
  const { job } = why.origin;
  if ((await viewerJobs.read(viewer, job.jobId)) !== null) return found;
  const unnamed: JobReason = { ...job, request: "", title: "", plan: "" };
  return { ...found, why: { ...why, origin: { ...why.origin, job: unnamed } } };
}

export const whyPages: ConsolePages = {
  routes(app, { host }) {
    app.get("/jobs/:job/why", async (c) => {
      const { page: context } = c.var;
      const path = c.req.query("path") ?? "";
      const line = Number(c.req.query("line"));
      const viewed = await host.viewerJobs.read(context.viewer, c.req.param("job"));
      if (viewed === null || !Number.isSafeInteger(line) || line < 1) return missingPage(context);
      const side = c.req.query("side") === "before" ? "before" : "after";
      const { job } = viewed;
      const seen = { jobId: job.jobId, side } as const;
      const found = await hideOthersWords(host, context.viewer, await host.findWhy(path, line, seen));
      return respond(whyPage(context, { job, path, line, seen, found }));
    });
  },
};
