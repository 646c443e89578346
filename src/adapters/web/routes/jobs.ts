import type { JobQuery } from "../../../application/inbox/find-jobs.ts";
import { briefly, wordRefusal } from "../../../application/work/report/word-job.ts";
import { parsePatch } from "../../../domain/patch/parse-patch.ts";
import { type Outcome, outcomeOf } from "../action-outcome.ts";
import type { PageContext } from "../context.ts";
import { jobPage, type Notice } from "../pages/job.ts";
import { jobsPage } from "../pages/jobs.ts";
import { playgroundPage } from "../pages/playground.ts";
import { conflictsOf } from "../parts/conflict.ts";
import { fileDiffs } from "../parts/diff-rows.ts";
import { awayDiff, diffLines, noDiff } from "../parts/diff-view.ts";
import { PATCH_EXAMPLES } from "../parts/patch-examples.ts";
import { respond, trouble, type Web, type WebApp } from "../web.ts";

/** Jobs, what can be done with them, and the playground. */
export function jobRoutes(app: WebApp, web: Web): void {
  const { host, flashes } = web;
  const { viewerJobs } = host;
  const missing = ({ t, ...context }: PageContext) =>
    respond(trouble({ t, ...context }, t.notFoundTitle, t.notFound), 404);
  app.get("/jobs", async (c) => {
    const query = queryOf((name) => c.req.query(name) ?? "");
    // One format for all of them: to make it is what takes the time.
    const days = new Intl.DateTimeFormat("sv", { timeZone: c.var.page.timezone });
    const dayOf = (iso: string) => days.format(Date.parse(iso) || 0);
    return respond(jobsPage(c.var.page, await viewerJobs.find(c.var.person.viewer, query, dayOf), query));
  });
  app.get("/jobs/:job", async (c) => {
    const viewed = await viewerJobs.read(c.var.person.viewer, c.req.param("job"));
    if (viewed === null) return missing(c.var.page);
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
        conflicts: await conflictsOf(viewed.job, journal, differences ?? []),
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
    if (viewed === null) return missing(c.var.page);
    const found = await viewerJobs.differences(viewer, viewed.job.jobId, c.req.query("path") ?? "");
    if (found === null) return respond(awayDiff(c.var.page.t));
    const [file] = await fileDiffs(found);
    return respond(file === undefined ? noDiff(c.var.page.t) : diffLines(c.var.page.t, file, "inline"));
  });
  app.post("/jobs/:job/rest", async (c) => {
    const { words, viewer, t } = c.var.page;
    const jobId = c.req.param("job");
    const done = await viewerJobs.applyRest(viewer, jobId);
    if (done.about === "action") {
      const outcome = outcomeOf(words, done);
      if (outcome.status === 404) return missing(c.var.page);
      return c.redirect(`/jobs/${encodeURIComponent(jobId)}?${flashes.keep(noticeOf(outcome))}`, 303);
    }
    const { facts, left } = done;
    const text = facts.about === "refusal" ? wordRefusal(words, facts) : briefly(words, facts);
    const isDone = facts.about === "job" && facts.success;
    const flash = flashes.keep({
      ok: isDone,
      text: left.length === 0 ? text : `${text}\n${t.leftOut(left)}`,
    });
    return c.redirect(
      `/jobs/${facts.about === "job" ? facts.jobId : encodeURIComponent(jobId)}?${flash}`,
      303,
    );
  });
  app.post("/jobs/:job/discard", async (c) => {
    const jobId = c.req.param("job");
    const status = await viewerJobs.discard(c.var.page.viewer, jobId);
    if (status === "unknown") return missing(c.var.page);
    const { t, words } = c.var.page;
    const text =
      status === "done"
        ? t.discarded
        : status === "not-a-preview"
          ? words.notAPreview(jobId)
          : t.notDiscarded;
    return c.redirect(
      `/jobs/${encodeURIComponent(jobId)}?${flashes.keep({ ok: status === "done", text })}`,
      303,
    );
  });
  app.post("/jobs/:job/:verb", async (c) => {
    const jobId = c.req.param("job");
    const outcome = await act(c.var.page, jobId, c.req.param("verb"), c.var.form.get("force") === "1");
    if (outcome === null || outcome.status === 404) return missing(c.var.page);
    return c.redirect(`/jobs/${encodeURIComponent(jobId)}?${flashes.keep(noticeOf(outcome))}`, 303);
  });

  async function act(
    { words, viewer }: PageContext,
    jobId: string,
    verb: string,
    force: boolean,
  ): Promise<Outcome | null> {
    switch (verb) {
      case "undo":
      case "redo":
        return outcomeOf(words, await viewerJobs.takeBack(viewer, jobId, verb, force));
      case "apply":
        return outcomeOf(words, await viewerJobs.applyPreview(viewer, jobId));
      case "stop":
        return outcomeOf(words, await viewerJobs.stop(viewer, jobId));
      default:
        return null;
    }
  }

  app.get("/playground", (c) => {
    const { page } = c.var;
    if (page.viewer.role !== "operator")
      return respond(trouble(page, page.t.forbiddenTitle, page.t.operatorsOnly), 403);
    const name = c.req.query("example") ?? "";
    const patch = Object.hasOwn(PATCH_EXAMPLES, name)
      ? PATCH_EXAMPLES[name as keyof typeof PATCH_EXAMPLES]
      : "";
    return respond(
      playgroundPage(page, { patch, parsed: patch === "" ? null : parsePatch(patch), atomic: false }),
    );
  });
  app.post("/playground", async (c) => {
    const { page, form } = c.var;
    if (page.viewer.role !== "operator")
      return respond(trouble(page, page.t.forbiddenTitle, page.t.operatorsOnly), 403);
    // Browsers send CRLF; the patch was typed with line feeds.
    const patch = (form.get("patch") ?? "").replaceAll("\r\n", "\n");
    const atomic = form.get("atomic") === "1";
    const verb = form.get("do");
    const parsed = parsePatch(patch);
    if (verb !== "preview" && verb !== "apply")
      return respond(playgroundPage(page, { patch, parsed, atomic }));
    const again = (text: string) =>
      respond(playgroundPage(page, { patch, parsed, atomic, notice: { ok: false, text } }), 422);
    if (!parsed.ok) return respond(playgroundPage(page, { patch, parsed, atomic }), 422);
    if (parsed.commands.length === 0) return again(page.t.emptyPatch);
    const facts = await viewerJobs.run(page.viewer, { patch, mode: verb, atomic, source: "web" });
    if (facts.about === "refusal") return again(wordRefusal(page.words, facts));
    const flash = flashes.keep({ ok: facts.success, text: briefly(page.words, facts) });
    return c.redirect(`/jobs/${facts.jobId}?${flash}`, 303);
  });
}

function noticeOf({ ok, text, offerForce }: Outcome): Notice {
  return { ok, text, offerForce };
}

function queryOf(field: (name: string) => string): JobQuery {
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
