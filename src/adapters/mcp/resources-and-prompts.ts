import type { GetPromptResult, Prompt } from "@modelcontextprotocol/sdk/types.js";
import { diffText, toJobJson, toListedJob } from "../../application/jobs/job-facts.ts";
import { resolveJobName } from "../../application/jobs/job-names.ts";
import { wordNote } from "../../application/jobs/word-notes.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import { changedFiles } from "../../domain/jobs/result.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import type { McpHost } from "./host.ts";

const JOBS = "picoclaw://jobs";
const JOB_URI = /^picoclaw:\/\/jobs\/(job_\d{1,12}_[0-9a-z]{8}|\d{1,7})(\/diff)?$/;
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
  const job = jobId === undefined ? null : host.archive.read(resolveJobName(host, jobId));
  if (job === null) return null;
  if (diff === undefined) return asJson(uri, detailsOf(job, host));
  const text = host.mask(await diffText(host.archive.walkDifferences(job.jobId)));
  return { uri, mimeType: "text/x-diff", text: capped(text, job.jobId) };
}

function briefly(job: StoredJob) {
  const { changes: _, ...rest } = toListedJob(job);
  return toJobJson(rest, true);
}

/** Parts that make it too long are left out and named. */
function detailsOf(job: StoredJob, host: Pick<McpHost, "archive" | "mask">): string {
  const details = {
    ...toJobJson(toListedJob(job), true),
    notes: job.notes.map((note) => wordNote(messagesFor("en"), note)),
  };
  const whole = stringify({ ...details, events: host.archive.events(job.jobId) }, host);
  if (whole.length <= MOST_CHARS) return whole;
  const left_out = `events, and changes past ${MOST_CHANGES}: picoclaw show ${job.jobId} --json`;
  return stringify({ ...details, changes: changedFiles(job.changes).slice(0, MOST_CHANGES), left_out }, host);
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

interface PromptEntry {
  readonly prompt: Prompt;
  /** A text is what is wrong with the arguments. */
  fill(
    args: Readonly<Record<string, string>>,
    host: Pick<McpHost, "archive" | "mask">,
  ): Promise<PromptMessages | string>;
}

type PromptMessages = GetPromptResult["messages"];

const JOB = { name: "job_id", description: "A job of this workspace; absent: the last one", required: false };

/** The prompts that a person can start from a client's menu. One entry per prompt. */
const PROMPTS: readonly PromptEntry[] = [
  {
    prompt: {
      name: "change_safely",
      title: "Change the project, safely",
      description: "Make a change, have the project's own tests judge it, take it back if they got worse",
      arguments: [{ name: "request", description: "What should be different", required: true }],
    },
    async fill({ request = "" }) {
      if (request.trim() === "") return "request: required";
      return [
        userMessage(
          `${request}\n\nWork with the tools of PicoClaw, whose every write and command is a job that can be taken back exactly. ` +
            "First find out how the project is tested, and run its tests with execute_command. Then make the change with text_editor or apply_patch. " +
            "Run the tests again. If something that passed before fails now and you cannot fix it, undo your jobs with undo_job, newest first. " +
            "End with what changed, the tests before and after, and the job ids.",
        ),
      ];
    },
  },
  {
    prompt: {
      name: "review_job",
      title: "Review a job",
      description: "Look over what a job changed",
      arguments: [JOB],
    },
    async fill({ job_id: name }, host) {
      const jobId = name || host.archive.list().at(-1)?.jobId;
      if (jobId === undefined) return "there is no job yet";
      const diff = await readResource(`picoclaw://jobs/${jobId}/diff`, host);
      if (diff === null) return `job_id: no such job: ${jobId.slice(0, 100)}`;
      return [
        userMessage(
          `Review what ${jobId} changed. Name mistakes, what is missing, and what to test, most important first. ` +
            "Change nothing. If it should not stay, say so: undo_job takes it back.",
        ),
        { role: "user", content: { type: "resource", resource: diff } },
      ];
    },
  },
  {
    prompt: {
      name: "take_back",
      title: "Take back a job",
      description: "Undo a job and tell what became of it",
      arguments: [JOB],
    },
    async fill({ job_id: name }) {
      const which = name ? `the job ${name}` : "the last job";
      const rest =
        "Tell which files are as they were before. If there is a conflict, name it and change nothing else.";
      return [userMessage(`Take back ${which} with undo_job. ${rest}`)];
    },
  },
];

export const listPrompts = (): Prompt[] => PROMPTS.map(({ prompt }) => prompt);

/** Null when there is no such prompt; a text is what is wrong with its arguments. */
export async function getPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
  host: Pick<McpHost, "archive" | "mask">,
): Promise<GetPromptResult | string | null> {
  const entry = PROMPTS.find(({ prompt }) => prompt.name === name);
  if (entry === undefined) return null;
  const messages = await entry.fill(args, host);
  return typeof messages === "string" ? messages : { description: entry.prompt.description, messages };
}

function userMessage(text: string): PromptMessages[number] {
  return { role: "user", content: { type: "text", text } };
}
