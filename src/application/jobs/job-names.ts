import type { JobNumbers } from "../../domain/jobs/result.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";

/** `#12` or `12`: the twelfth job of a workspace, as people say it. */
function readJobNumber(name: string): number | null {
  const number = /^#?([1-9]\d{0,6})$/.exec(name)?.[1];
  return number === undefined ? null : Number(number);
}

type NamedJob = { readonly jobId: string; readonly number?: number | undefined };

/** A job as people name it: `#4`, its id where it has no number. */
export function nameJob({ jobId, number }: NamedJob): string {
  return number === undefined ? jobId : `#${number}`;
}

/** The same where only the id is at hand. */
export function nameJobId(archive: Pick<JobArchive, "numbers">, jobId: string): string {
  return nameJob({ jobId, number: archive.numbers().get(jobId) });
}

/** Members of facts that name a job, or several with spaces between them, and lists whose members do. */
const NAMES = ["jobId", "name", "by", "mergedBy"];
const LISTS = ["conflicts", "evicted", "notes", "done"];

/** The facts with each job under the name that `name` gives it. */
function renameJobs<Facts extends object>(facts: Facts, name: (jobId: string) => string): Facts {
  const renamed: Record<string, unknown> = Object.fromEntries(Object.entries(facts));
  for (const [key, value] of Object.entries(facts))
    if (NAMES.includes(key) && typeof value === "string") renamed[key] = value.split(" ").map(name).join(" ");
    else if (LISTS.includes(key) && Array.isArray(value))
      renamed[key] = value.map((one: unknown) =>
        typeof one === "object" && one !== null ? renameJobs(one, name) : one,
      );
  return renamed as Facts;
}

/** The facts with the numbers of the jobs in them, so that they can be worded later and on another machine. */
export function withNumbers<Facts extends object>(
  archive: Pick<JobArchive, "numbers">,
  facts: Facts,
): Facts & { readonly numbers?: JobNumbers } {
  const named: string[] = [];
  renameJobs(facts, (jobId) => {
    named.push(jobId);
    return jobId;
  });
  const numbers = numbersOf(archive, named);
  return Object.keys(numbers).length === 0 ? facts : { ...facts, numbers };
}

export function numbersOf(archive: Pick<JobArchive, "numbers">, jobIds: readonly string[]): JobNumbers {
  const all = archive.numbers();
  return Object.fromEntries(
    jobIds.flatMap((jobId) => (all.has(jobId) ? [[jobId, all.get(jobId) ?? 0]] : [])),
  );
}

/** The facts as they are worded: with numbers instead of ids. */
export function nameByNumber<Facts extends { readonly numbers?: JobNumbers }>(facts: Facts): Facts {
  const { numbers = {} } = facts;
  return renameJobs(facts, (jobId) => nameJob({ jobId, number: ownMember(numbers, jobId) }));
}

/** The id of the job that a person names by its number, or of its sub-agent (`4/1`); any other name as it is. */
export function resolveJobName(
  { archive }: { readonly archive: Pick<JobArchive, "list"> },
  name: string,
): string {
  const [job = "", ...agent] = name.split("/");
  const number = readJobNumber(job);
  const found = number === null ? undefined : findNamedJob(archive.list(), job);
  return found === undefined ? name : [found.jobId, ...agent].join("/");
}

export function findNamedJob(jobs: readonly StoredJob[], name: string): StoredJob | undefined {
  const number = readJobNumber(name);
  return jobs.find((job) => (number === null ? job.jobId === name : job.number === number));
}
