import type { JobQuery } from "../../application/fleet/find-jobs.ts";
import type { ViewedJob } from "../../application/fleet/viewer-jobs.ts";
import { diffText } from "../../application/jobs/diff-text.ts";
import type { RefusalFacts } from "../../application/jobs/job-facts.ts";
import { toJobJson, toListedJob } from "../../application/jobs/job-json.ts";
import { wordRefusal } from "../../application/jobs/job-report.ts";
import { toResultJson } from "../../application/jobs/result-json.ts";
import { isTimeZone } from "../../config/time-zone.ts";
import { dayFormatter } from "../../domain/chat/day-in.ts";
import { JOB_STATUSES, type JobStatus } from "../../domain/jobs/job-status.ts";
import { toActionOutcome } from "./action-outcome.ts";
import type { Web } from "./web.ts";
import { type Api, apiFailure, readJsonBody, refuseWithoutScope } from "./answers.ts";

const MOST_JOBS = 500;
const LONGEST_SEARCH = 200;
const NARROWS = ["q", "status", "chat", "day", "path", "page"] as const;
const MODES = ["apply", "preview", "dry-run"] as const;

/** Jobs: look, run, take back. */
export function jobApi(app: Api, { host }: Web): void {
  const { viewerJobs } = host;
  const words = () => host.messagesFor(host.locale());
  const unknown = () => apiFailure(404, "unknown-job", "no such job");
  function refusal(facts: RefusalFacts): Response {
    const { why } = facts;
    if (why.kind === "refused") return apiFailure(409, why.refusal.code, wordRefusal(words(), facts));
    const { kind: _, code, message, ...details } = why;
    return apiFailure(422, code, message, details);
  }
  app.get("/jobs", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "read");
    if (refused !== null) return refused;
    const limit = Number(c.req.query("limit") ?? 50);
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_JOBS)
      return apiFailure(400, "bad-limit", `limit: 1 to ${MOST_JOBS}`);
    const field = (name: string) => c.req.query(name) ?? "";
    const zone = field("zone") || host.timezone();
    if (!isTimeZone(zone)) return apiFailure(400, "bad-zone", "zone: a time zone, as in Europe/Paris");
    if (NARROWS.every((name) => field(name) === ""))
      return c.json({ jobs: (await viewerJobs.list(c.var.viewer, limit)).map(viewedJobJson) });
    const query = readJobQuery(field, limit);
    if (query instanceof Response) return query;
    const { jobs, total, page, pages } = await viewerJobs.find(c.var.viewer, query, dayFormatter(zone));
    return c.json({ jobs: jobs.map(viewedJobJson), total, page, pages });
  });
  app.post("/jobs", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "jobs", { operator: true });
    if (refused !== null) return refused;
    const body = await readJsonBody(c.req.raw);
    if (body instanceof Response) return body;
    const { patch, mode = "apply", atomic = false } = body;
    if (typeof patch !== "string") return apiFailure(400, "bad-patch", "patch: a text");
    if (!MODES.includes(mode as (typeof MODES)[number]))
      return apiFailure(400, "bad-mode", `mode: one of ${MODES.join(", ")}`);
    if (typeof atomic !== "boolean") return apiFailure(400, "bad-atomic", "atomic: true or false");
    const facts = await viewerJobs.run(c.var.viewer, {
      patch,
      mode: mode as (typeof MODES)[number],
      atomic,
      source: "api",
    });
    if (facts.about === "refusal") return refusal(facts);
    return c.json({ outcome: facts.outcome, result: toResultJson(words(), facts) });
  });
  app.get("/jobs/:job", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "read");
    if (refused !== null) return refused;
    const viewed = await viewerJobs.read(c.var.viewer, c.req.param("job"));
    if (viewed === null) return unknown();
    return c.json({
      ...viewedJobJson(viewed),
      events: await viewerJobs.journal(c.var.viewer, viewed.job.jobId),
    });
  });
  app.get("/jobs/:job/diff", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "read");
    if (refused !== null) return refused;
    const viewed = await viewerJobs.read(c.var.viewer, c.req.param("job"));
    if (viewed === null) return unknown();
    const files = await viewerJobs.differences(c.var.viewer, viewed.job.jobId);
    if (files === null) return apiFailure(503, "machine-away", "the machine that holds this job is away");
    return c.json({ job_id: viewed.job.jobId, diff: await diffText(files) });
  });
  app.post("/jobs/:job/:verb", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "jobs");
    if (refused !== null) return refused;
    const [jobId, verb] = [c.req.param("job"), c.req.param("verb")];
    const body = await readJsonBody(c.req.raw);
    if (body instanceof Response) return body;
    const outcome = await act();
    if (outcome === null) return apiFailure(404, "not-found", "no such address");
    if (!outcome.ok) return apiFailure(outcome.status, outcome.code, outcome.text);
    const viewed = await viewerJobs.read(viewer, jobId);
    return c.json({ message: outcome.text, ...(viewed !== null && { job: viewedJobJson(viewed) }) });

    async function act() {
      switch (verb) {
        case "undo":
        case "redo": {
          const force = (body as Record<string, unknown>).force === true;
          return toActionOutcome(words(), await viewerJobs.takeBack(viewer, jobId, verb, force));
        }
        case "apply":
          return toActionOutcome(words(), await viewerJobs.applyPreview(viewer, jobId));
        case "stop":
          return toActionOutcome(words(), await viewerJobs.stop(viewer, jobId));
        default:
          return null;
      }
    }
  });
}

function viewedJobJson({ job, changeCount, alive, machine }: ViewedJob): Record<string, unknown> {
  return {
    ...toJobJson(toListedJob(job), alive),
    ...(changeCount !== undefined && { change_count: changeCount }),
    alive,
    ...(machine !== undefined && { machine }),
  };
}

/** A day of the calendar: 2026-02-31 is none. */
function isDay(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  return at !== null && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** The console narrows its list by the same words. */
function readJobQuery(field: (name: string) => string, perPage: number): JobQuery | Response {
  const [text, status, day, page] = [field("q"), field("status"), field("day"), field("page") || "1"];
  if (text.length > LONGEST_SEARCH)
    return apiFailure(400, "bad-q", `q: at most ${LONGEST_SEARCH} characters`);
  if (status !== "" && !JOB_STATUSES.includes(status as JobStatus))
    return apiFailure(400, "bad-status", `status: one of ${JOB_STATUSES.join(", ")}`);
  if (day !== "" && !isDay(day)) return apiFailure(400, "bad-day", "day: YYYY-MM-DD");
  if (!/^[1-9]\d{0,5}$/.test(page)) return apiFailure(400, "bad-page", "page: from 1");
  return {
    text,
    status: status as JobQuery["status"],
    chat: field("chat"),
    day,
    path: field("path"),
    page: Number(page),
    perPage,
  };
}
