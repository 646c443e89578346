import type { StoredJob } from "../../application/ports/jobs.ts";
import { diffText } from "../../application/jobs/diff-text.ts";
import { toJobJson, toListedJob } from "../../application/jobs/job-json.ts";
import { wordNote } from "../../application/jobs/word-notes.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import type { McpHost } from "./host.ts";

const JOBS = "picoclaw://jobs";
const JOB_URI = /^picoclaw:\/\/jobs\/(job_\d{1,12}_[0-9a-z]{8})(\/diff)?$/;
/** Jobs that the list of resources names one by one; every other is reached by the template. */
const NAMED_JOBS = 20;
const LISTED_JOBS = 200;
/** Clients give up on messages of ten megabytes. */
const MOST_CHARS = 1_000_000;
const STRING_CHARS = 20_000;
const MOST_CHANGES = 1000;

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

export function listResources({ archive }: Pick<McpHost, "archive">) {
  const recent = archive.list().slice(-NAMED_JOBS).reverse();
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
  host: Pick<McpHost, "archive" | "mask">,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string } | null> {
  if (uri === JOBS) {
    const newest = host.archive.list().slice(-LISTED_JOBS).reverse();
    return asJson(uri, stringify({ jobs: newest.map(briefly) }, host));
  }
  const [, jobId, diff] = JOB_URI.exec(uri) ?? [];
  const job = jobId === undefined ? null : host.archive.read(jobId);
  if (job === null) return null;
  if (diff === undefined) return asJson(uri, detailsOf(job, host));
  const text = host.mask(await diffText(host.archive.differences(job.jobId)));
  return { uri, mimeType: "text/x-diff", text: capped(text, job.jobId) };
}

function briefly(job: StoredJob) {
  const { changes: _, ...rest } = toListedJob(job);
  return toJobJson(rest, true);
}

/** What makes it too long is left out and named. */
function detailsOf(job: StoredJob, host: Pick<McpHost, "archive" | "mask">): string {
  const details = {
    ...toJobJson(toListedJob(job), true),
    notes: job.notes.map((note) => wordNote(messagesFor("en"), note)),
  };
  const whole = stringify({ ...details, events: host.archive.events(job.jobId) }, host);
  if (whole.length <= MOST_CHARS) return whole;
  const left_out = `events, and changes past ${MOST_CHANGES}: picoclaw show ${job.jobId} --json`;
  return stringify({ ...details, changes: job.changes.slice(0, MOST_CHANGES), left_out }, host);
}

function stringify(value: object, { mask }: Pick<McpHost, "mask">): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== "string") return each;
    return each.length <= STRING_CHARS ? mask(each) : `${mask(each).slice(0, STRING_CHARS).toWellFormed()}…`;
  });
}

const asJson = (uri: string, text: string) => ({ uri, mimeType: "application/json", text });

function capped(text: string, jobId: string): string {
  if (text.length <= MOST_CHARS) return text;
  const cut = text.length - MOST_CHARS;
  return `${text.slice(0, MOST_CHARS).toWellFormed()}\n# ${cut} more characters: picoclaw show ${jobId} --diff\n`;
}
