import type { StoredJob } from "../../application/ports/jobs.ts";
import { diffText } from "../cli/diff-text.ts";
import { listed, toJobJson } from "../cli/jobs.ts";
import type { McpHost } from "./host.ts";

const JOBS = "picoclaw://jobs";
const JOB_URI = /^picoclaw:\/\/jobs\/(job_\d{1,12}_[0-9a-z]{8})(\/diff)?$/;
/** Jobs that the list of resources names one by one; every other is reached by the template. */
const NAMED_JOBS = 20;
const LISTED_JOBS = 200;
const MOST_CHARS = 1_000_000;

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${JOBS}/{id}`,
    name: "job",
    title: "One job",
    description: "What a job was asked, what it did and changed, and whether it can be undone",
    mimeType: "application/json",
  },
  {
    uriTemplate: `${JOBS}/{id}/diff`,
    name: "job-diff",
    title: "The changes of a job",
    description: "A unified diff of every file that a job changed",
    mimeType: "text/x-diff",
  },
] as const;

export function listResources({ jobs }: Pick<McpHost, "jobs">) {
  const recent = jobs.list().slice(-NAMED_JOBS).reverse();
  return [
    {
      uri: JOBS,
      name: "jobs",
      title: "Jobs",
      description: "The jobs of this workspace, newest first",
      mimeType: "application/json",
    },
    ...recent.flatMap((job) => [
      {
        uri: `${JOBS}/${job.jobId}`,
        name: job.jobId,
        description: job.title.slice(0, 200),
        mimeType: "application/json",
      },
      {
        uri: `${JOBS}/${job.jobId}/diff`,
        name: `${job.jobId}.diff`,
        description: `the changes of ${job.jobId}`,
        mimeType: "text/x-diff",
      },
    ]),
  ];
}

/** Null when there is no such resource. Secrets are masked: a model reads this. */
export async function readResource(
  uri: string,
  host: Pick<McpHost, "jobs" | "mask">,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string } | null> {
  if (uri === JOBS) {
    const newest = host.jobs.list().slice(-LISTED_JOBS).reverse();
    return json(uri, { jobs: newest.map((job) => toJobJson(listed(job))) }, host);
  }
  const [, jobId, diff] = JOB_URI.exec(uri) ?? [];
  const job = jobId === undefined ? null : host.jobs.read(jobId);
  if (job === null) return null;
  if (diff === undefined) return json(uri, detailsOf(job, host), host);
  const text = host.mask(await diffText(host.jobs.differences(job.jobId)));
  return { uri, mimeType: "text/x-diff", text: capped(text) };
}

function detailsOf(job: StoredJob, { jobs }: Pick<McpHost, "jobs">) {
  return { ...toJobJson(listed(job)), notes: job.notes, events: jobs.events(job.jobId) };
}

function json(uri: string, value: object, { mask }: Pick<McpHost, "mask">) {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === "string" ? capped(mask(each)) : each,
  );
  return { uri, mimeType: "application/json", text };
}

function capped(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const cut = text.length - MOST_CHARS;
  return `${text.slice(0, MOST_CHARS).toWellFormed()}\n# ${cut} more characters: picoclaw show --diff\n`;
}
