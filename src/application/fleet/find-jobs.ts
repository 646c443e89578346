import { type JobStatus, toJobStatus } from "../../domain/jobs/job-status.ts";
import type { StoredJob } from "../ports/jobs.ts";
import { toListedJob } from "../jobs/job-json.ts";

/** What a list of jobs is narrowed by; what is empty narrows nothing. */
export interface JobQuery {
  /** Words that all stand in the request, the title, a path or the id. */
  readonly text: string;
  readonly status: JobStatus | "";
  /** `<channel>:<chatId>`. */
  readonly chat: string;
  /** `2026-03-01`. */
  readonly day: string;
  /** A part of a changed path. */
  readonly path: string;
  /** From 1. */
  readonly page: number;
  /** Jobs on a page. Default: 50. */
  readonly perPage?: number;
}

export interface FoundJobs<Job> {
  /** One page of them, newest first. */
  readonly jobs: readonly Job[];
  readonly total: number;
  readonly page: number;
  readonly pages: number;
  /** Every chat that has a job, whatever the query says. */
  readonly chats: readonly string[];
}

interface SeenJob {
  readonly job: StoredJob;
  readonly alive: boolean;
}

const JOBS_PER_PAGE = 50;

/** `jobs` oldest first, as the archive has them. */
export function findJobs<Job extends SeenJob>(
  jobs: readonly Job[],
  query: JobQuery,
  dayOf: (iso: string) => string,
): FoundJobs<Job> {
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = jobs.filter(
    ({ job, alive }) =>
      (query.status === "" || toJobStatus(toListedJob(job), alive) === query.status) &&
      (query.chat === "" || chatOfJob(job) === query.chat) &&
      (query.day === "" || dayOf(job.createdAt) === query.day) &&
      (query.path === "" || job.changes.some(({ path }) => path.includes(query.path))) &&
      jobContainsWords(job, words),
  );
  const { perPage = JOBS_PER_PAGE } = query;
  const pages = Math.max(1, Math.ceil(matching.length / perPage));
  const page = Math.min(Math.max(1, query.page), pages);
  const newest = matching.reverse();
  return {
    jobs: newest.slice((page - 1) * perPage, page * perPage),
    total: matching.length,
    page,
    pages,
    chats: [...new Set(jobs.map(({ job }) => chatOfJob(job)))].filter((chat) => chat !== "").sort(),
  };
}

/** The chat whose message made a job; empty for a job of the command line or a program. */
export function chatOfJob({ groupId, source }: Pick<StoredJob, "groupId" | "source">): string {
  const end = groupId.lastIndexOf("#");
  return end > 0 && (source.startsWith("chat:") || groupId.includes(":")) ? groupId.slice(0, end) : "";
}

function jobContainsWords(
  { jobId, title, request = "", changes }: StoredJob,
  words: readonly string[],
): boolean {
  if (words.length === 0) return true;
  const text = [jobId, title, request, ...changes.map(({ path }) => path)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}
