import { nameCheck } from "../../domain/checks/findings.ts";
import { type Change, nameJob } from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { RecentFile } from "../coder/coder-context.ts";
import { diffText, isOwnJob, validatedJournal } from "../jobs/job-facts.ts";
import type { FileDifference, JobArchive, JobEvent, StoredJob } from "../ports/jobs.ts";

export type JobHistory = ReturnType<typeof createJobHistory>;

const MOST_FILES = 12;
const MOST_FAILED = 2;
/** The end of an output usually says why a command failed. */
const OUTPUT_CHARS = 700;
const COMMAND_CHARS = 200;
const MOST_RECENT = 8;
/** How many messages with jobs are searched for recent files. */
const MOST_GROUPS = 6;
/** A difference of more files, or of longer ones, is reported by their names alone. */
const MOST_COMPARED = { files: 12, bytes: 400_000 };
const isShort = ({ before, after }: FileDifference) =>
  [before, after].every((bytes) => (bytes?.length ?? 0) <= MOST_COMPARED.bytes);

/** Reads each difference once, at the first question. Of jobs before `since`, only the last message's files are recent. */
export function createJobHistory(
  archive: Pick<JobArchive, "list" | "events" | "differences">,
  groupPrefix: string,
  since = "",
) {
  let groups: ReadonlyMap<string, readonly StoredJob[]> | null = null;
  const known = () => {
    groups ??= Map.groupBy(
      archive.list(undefined, (groupId) => groupId.startsWith(groupPrefix)).filter(isOwnJob),
      ({ groupId }) => groupId,
    );
    return groups;
  };
  const eventsOf = (jobId: string) => validatedJournal(archive.events(jobId)).map(({ event }) => event);
  const read = new Map<string, readonly FileDifference[]>();
  const compared = (job: StoredJob) => {
    if (job.state === "undone" || job.changes.length > MOST_COMPARED.files) return [];
    const differences = read.get(job.jobId) ?? archive.differences(job.jobId).filter(isShort);
    read.set(job.jobId, differences);
    return differences;
  };
  return {
    /** The outcome of a message's jobs, for a model; empty if it had none here. */
    tell: (groupId: string) =>
      (known().get(groupId) ?? [])
        .map((job) => wordPastJob(job, eventsOf(job.jobId)))
        .filter((told) => told !== "")
        .join("\n"),
    /** The changes of a message's jobs as unified diffs, without undone changes and new files. */
    async difference(groupId: string): Promise<string> {
      const jobs = known().get(groupId) ?? [];
      // A file that a job made is shown as a file, unless it was not committed.
      const told = jobs.flatMap((job) =>
        compared(job).filter(({ before }) => before !== null || job.state !== "committed"),
      );
      return told.length === 0 ? "" : diffText(told);
    },
    /** The files that a message's jobs changed, one line per job with its id and the changed lines, without contents. */
    async changes(groupId: string): Promise<readonly string[]> {
      const jobs = (known().get(groupId) ?? []).filter(
        ({ changes, state }) => changes.length > 0 && state !== "discarded",
      );
      return Promise.all(
        jobs.map(async (job) => {
          const lines = changedLines(await diffText(compared(job)));
          return `${nameJob(job)}: ${jobStateText(job)} ${changesOf(job.changes, lines)}`;
        }),
      );
    },
    /** Files that the jobs changed, with the lines, and those that a failed edit was meant for; the last message's first. */
    async recentFiles(): Promise<readonly RecentFile[]> {
      const [last = [], ...before] = [...known().values()].reverse().slice(0, MOST_GROUPS);
      const jobs = [...last, ...before.flat().filter(({ createdAt }) => since !== "" && createdAt >= since)];
      const files = new Map<string, readonly number[]>();
      for (const job of jobs) {
        if (files.size >= MOST_RECENT) break;
        if (job.state !== "undone") {
          const lines = changedLines(await diffText(compared(job)));
          // Later changes may have moved the earlier lines a little, so their surroundings are shown as well.
          for (const { path, kind } of job.changes)
            if (kind !== "deleted") files.set(path, [...(files.get(path) ?? []), ...(lines.get(path) ?? [])]);
        }
        for (const { command } of failuresOf(eventsOf(job.jobId)))
          if (command?.type === "file_edit" && !files.has(command.target)) files.set(command.target, []);
      }
      return [...files].slice(0, MOST_RECENT).map(([path, lines]) => ({ path, lines }));
    },
  };
}

/** The path in a header of the text that `diffText` writes, empty for a deleted file; undefined for every other line. */
function readNewName(line: string): string | undefined {
  const [header, plain, quoted] = /^\+\+\+ (?:b\/(.*)|"b\/(.*)"|\/dev\/null)$/.exec(line) ?? [];
  if (header === undefined) return undefined;
  const bytes = quoted?.replace(/\\(\d{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  return bytes === undefined ? (plain ?? "") : Buffer.from(bytes, "latin1").toString();
}

/** The first changed line of every hunk, by the path after the change. */
function changedLines(diff: string): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  let path = "";
  let line = 0;
  let isFirst = false;
  for (const text of diff.split("\n")) {
    const named = readNewName(text);
    if (named !== undefined) path = named;
    const begun = /^@@ -\S+ \+(\d+)/.exec(text)?.[1];
    if (begun !== undefined) {
      line = Number(begun) - 1;
      isFirst = true;
    }
    if (/^[ +]/.test(text)) line++;
    if (isFirst && /^[-+]/.test(text) && named === undefined && line > 0) {
      // A removed line was where the next one is now.
      lines.set(path, [...(lines.get(path) ?? []), text.startsWith("-") ? line + 1 : line]);
      isFirst = false;
    }
  }
  return lines;
}

function wordPastJob(job: StoredJob, events: readonly JobEvent[]): string {
  const failures = failuresOf(events);
  // The draft was opened for an answer in words.
  if (job.state === "discarded" && job.changes.length === 0 && failures.length === 0) return "";
  return [
    `${jobStateText(job)} ${changesOf(job.changes)}`.trim(),
    ...passedChecks(events),
    ...failures.slice(-MOST_FAILED).map(({ name, output }) => `failed: ${name}${quoted(output)}`),
    ...(failures.length > MOST_FAILED ? [`and ${failures.length - MOST_FAILED} more failures`] : []),
  ].join("\n");
}

function jobStateText({ state, outcome }: StoredJob): string {
  switch (state) {
    case "undone":
      return "Done, then UNDONE by the user; the files are as before. It had";
    case "staged":
      return "Kept as a preview, not applied. It would have";
    case "discarded":
      return "Dropped, nothing applied. It would have";
    case "running":
      return "Not finished. It would have";
    case "committed":
    case "evicted":
      return outcome === "committed" ? "Done:" : "Nothing applied:";
  }
}

const MOST_PLACES = 4;

function changesOf(
  changes: readonly Change[],
  lines: ReadonlyMap<string, readonly number[]> = new Map(),
): string {
  if (changes.length === 0) return "changed no file.";
  const named = changes.slice(0, MOST_FILES).map(({ path, kind }) => {
    const places = kind === "modified" ? (lines.get(path) ?? []).slice(0, MOST_PLACES) : [];
    return `${kind} ${path}${places.length === 0 ? "" : ` (at line ${places.join(", ")})`}`;
  });
  const more = changes.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}

interface Failure {
  readonly name: string;
  readonly output: string;
  readonly command?: PatchCommand;
}

/** The last failures: of a draft only its last attempt, and its checks over the draft. */
function failuresOf(events: readonly JobEvent[]): Failure[] {
  // The last attempt that ran counts: a later one may only have been asked for.
  const last = Math.max(
    0,
    ...events.map((event) =>
      event.type === "command_started" || isJudgement(event) ? (event.attempt ?? 0) : 0,
    ),
  );
  const commands = new Map<number, PatchCommand>();
  const failures: Failure[] = [];
  for (const event of events) {
    if ("attempt" in event && event.attempt !== undefined && event.attempt !== last) continue;
    if (event.type === "command_started") commands.set(event.index, event.command);
    if (event.type === "command_finished" && !event.success) {
      const command = commands.get(event.index);
      const name = command === undefined ? "a command" : jobCommandName(command);
      const output = [event.output, event.error].filter((text) => text !== "").join("\n");
      failures.push({ name, output, ...(command !== undefined && { command }) });
    }
    // Attempt 0 holds commands that a coder only tried out.
    if (isJudgement(event) && event.attempt > 0 && event.exit_code !== 0)
      failures.push({ name: `check ${event.command} (${exitOf(event.exit_code)})`, output: event.output });
  }
  return failures;
}

/** Whether a check judged the draft itself: proofs run over old or broken code, where tests should fail. */
function isJudgement(event: JobEvent): event is Extract<JobEvent, { type: "check_finished" }> {
  return event.type === "check_finished" && event.over === "draft" && event.altered !== true;
}

/** The checks that passed over the last attempt, each with the line that counts its tests. */
function passedChecks(events: readonly JobEvent[]): string[] {
  const checks = events.filter(isJudgement);
  const last = Math.max(0, ...checks.map(({ attempt }) => attempt));
  const passed = new Map<string, string>();
  for (const { attempt, command, exit_code, output } of checks) {
    if (attempt !== last || attempt === 0) continue;
    if (exit_code === 0) passed.set(command, countLine(output));
    else passed.delete(command);
  }
  return [...passed].map(
    ([command, count]) => `passed: check ${nameCheck(command)}${count === "" ? "" : ` (${count})`}`,
  );
}

const COUNT = /\b\d+ (?:pass|passed|passing|tests?|ok)\b|^# pass\s+\d+/i;
/** The line of one test, with any name. */
const ONE_TEST = /^\s*(?:not )?ok \d/;

function countLine(output: string): string {
  const counts = output.split("\n").filter((line) => COUNT.test(line) && !ONE_TEST.test(line));
  return (counts.at(-1) ?? "").trim().slice(0, 80);
}

function jobCommandName({ type, action, target }: PatchCommand): string {
  const short = cutMiddle(target, COMMAND_CHARS);
  return type === "shell_command" ? `command ${short}` : `${type} ${action} ${short}`;
}

function exitOf(code: number | null): string {
  return code === null ? "did not end by itself" : `exit code ${code}`;
}

function quoted(output: string): string {
  const text = output.trim();
  if (text === "") return "";
  const end = text.length > OUTPUT_CHARS ? `…${text.slice(-OUTPUT_CHARS)}` : text;
  return `\n${end.replace(/^/gm, "  | ")}`;
}
