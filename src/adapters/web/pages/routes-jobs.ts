import type { JobQuery } from "../../../application/fleet/find-jobs.ts";
import { dayFormatter } from "../../../domain/chat/day-in.ts";
import type { PageContext } from "../context.ts";
import { jobPage } from "./job.ts";
import { jobsPage } from "./jobs.ts";
import { readConflicts } from "../conflict.ts";
import { fileDiffs } from "../diff-view.ts";
import { awayDiff, diffLines, noDiff } from "../parts-diff-view.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";

/** Jobs to look at. */
export function jobRoutes(app: WebApp, web: Web): void {
  const { host, flashes } = web;
  const { viewerJobs } = host;
  app.get("/jobs", async (c) => {
    const query = readPageQuery((name) => c.req.query(name) ?? "");
    const dayOf = dayFormatter(c.var.page.timezone);
    return respond(jobsPage(c.var.page, await viewerJobs.find(c.var.person.viewer, query, dayOf), query));
  });
  app.get("/jobs/:job", async (c) => {
    const viewed = await viewerJobs.read(c.var.person.viewer, c.req.param("job"));
    if (viewed === null) return jobMissingPage(c.var.page);
    const { jobId } = viewed.job;
    const notice = flashes.take(c.req.query("flash"));
    const [differences, journal, output, beside] = await Promise.all([
      viewerJobs.differences(c.var.person.viewer, jobId),
      viewerJobs.journal(c.var.person.viewer, jobId),
      viewerJobs.output(jobId, c.var.person.viewer),
      viewerJobs.beside(viewed.job),
    ]);
    return respond(
      jobPage(c.var.page, {
        viewed,
        journal,
        conflicts: await readConflicts(viewed.job, journal, differences ?? []),
        output: host.mask(output),
        files: differences === null ? null : await fileDiffs(differences),
        beside,
        view: c.req.query("view") === "split" ? "split" : "inline",
        ...(notice !== undefined && { notice }),
      }),
    );
  });
  // One file's difference, for a card that is unfolded.
  app.get("/jobs/:job/diff", async (c) => {
    const { viewer } = c.var.person;
    const viewed = await viewerJobs.read(viewer, c.req.param("job"));
    if (viewed === null) return jobMissingPage(c.var.page);
    const found = await viewerJobs.differences(viewer, viewed.job.jobId, c.req.query("path") ?? "");
    if (found === null) return respond(awayDiff(c.var.page.t));
    const [file] = await fileDiffs(found);
    return respond(file === undefined ? noDiff(c.var.page.t) : diffLines(c.var.page.t, file, "inline"));
  });
}

export function jobMissingPage(page: PageContext): Response {
  return respond(troublePage(page, page.t.notFoundTitle, page.t.notFound), 404);
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
