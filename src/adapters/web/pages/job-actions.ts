import { wordJobBriefly, wordRefusal } from "../../../application/jobs/job-report.ts";
import { type ActionOutcome, toActionOutcome } from "../action-outcome.ts";
import type { PageContext } from "../context.ts";
import type { Notice } from "../context.ts";
import type { Web, WebApp } from "../web.ts";
import { jobMissingPage } from "./routes-jobs.ts";

/** What can be done with a job. */
export function jobActionRoutes(app: WebApp, { host, flashes }: Web): void {
  const { viewerJobs } = host;
  app.post("/jobs/:job/rest", async (c) => {
    const { words, viewer, t } = c.var.page;
    const jobId = c.req.param("job");
    const done = await viewerJobs.applyRest(viewer, jobId);
    if (done.about === "action") {
      const outcome = toActionOutcome(words, done);
      if (outcome.status === 404) return jobMissingPage(c.var.page);
      return c.redirect(`/jobs/${encodeURIComponent(jobId)}?${flashes.keep(toNotice(outcome))}`, 303);
    }
    const { facts, left } = done;
    const text = facts.about === "refusal" ? wordRefusal(words, facts) : wordJobBriefly(words, facts);
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
    if (status === "unknown") return jobMissingPage(c.var.page);
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
    if (outcome === null || outcome.status === 404) return jobMissingPage(c.var.page);
    return c.redirect(`/jobs/${encodeURIComponent(jobId)}?${flashes.keep(toNotice(outcome))}`, 303);
  });

  async function act(
    { words, viewer }: PageContext,
    jobId: string,
    verb: string,
    force: boolean,
  ): Promise<ActionOutcome | null> {
    switch (verb) {
      case "undo":
      case "redo":
        return toActionOutcome(words, await viewerJobs.takeBack(viewer, jobId, verb, force));
      case "apply":
        return toActionOutcome(words, await viewerJobs.applyPreview(viewer, jobId));
      case "stop":
        return toActionOutcome(words, await viewerJobs.stop(viewer, jobId));
      default:
        return null;
    }
  }
}

function toNotice({ ok, text, offerForce }: ActionOutcome): Notice {
  return { ok, text, offerForce };
}
