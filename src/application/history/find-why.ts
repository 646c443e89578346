import type { ChecksFacts } from "../../domain/checks/findings.ts";
import { nameCheck } from "../../domain/checks/findings.ts";
import { readKeptCounts } from "../../domain/checks/read-results.ts";
import { findRenamed, traceLine } from "../../domain/history/trace-line.ts";
import type { JobNumbers } from "../../domain/jobs/result.ts";
import { isBinaryContent } from "../../domain/patch/compare-lines.ts";
import { toLines } from "../../domain/platform/file-bytes.ts";
import { numbersOf } from "../jobs/job-facts.ts";
import type { BlamedLine, JobStack } from "../ports/history.ts";
import type { JobArchive, JobEvent, JournalLine, StoredJob } from "../ports/jobs.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";

export interface WhyDeps {
  readonly stack: JobStack;
  readonly archive: Pick<JobArchive, "read" | "events" | "numbers">;
  readonly files: Pick<WorkspaceFiles, "look" | "read">;
  /** The commit that a line of the present file has; null where git knows none. */
  readonly blame: (path: string, line: number) => Promise<BlamedLine | null>;
}

/** The job that wrote a line, with what its record says about why. */
export interface JobReason {
  readonly jobId: string;
  readonly number?: number;
  readonly at: string;
  readonly source: string;
  readonly title: string;
  /** The user's words; empty where the job had none. */
  readonly request: string;
  /** Who wrote it: agent and model; empty where no model was asked. */
  readonly by: string;
  readonly plan: string;
  /** Of the last attempt, each with what its output counts. */
  readonly checks: readonly {
    readonly command: string;
    readonly exitCode: number | null;
    readonly counts: ChecksFacts["counts"];
  }[];
  readonly failedCmds: number;
  /** 0 where no coder worked. */
  readonly attempts: number;
  readonly tokens: number;
  /** Null where the journal does not say. */
  readonly costUsd: number | null;
}

export type WhyOrigin =
  | { readonly kind: "job"; readonly job: JobReason; readonly replaced: readonly string[] }
  /** Changed outside of jobs, after this job and before that one; null is the beginning, or the present. */
  | { readonly kind: "by-hand"; readonly after: string | null; readonly before: string | null }
  /** The originals of this job, which touched the file, are gone. */
  | { readonly kind: "gone"; readonly jobId: string }
  | { readonly kind: "commit"; readonly commit: BlamedLine }
  /** Older than every job, and git does not know it. */
  | { readonly kind: "older" };

export type Why =
  | {
      readonly ok: true;
      readonly path: string;
      readonly line: number;
      readonly text: string;
      readonly origin: WhyOrigin;
      readonly numbers: JobNumbers;
      /** Earlier names of the file, newest first. */
      readonly renamedFrom: readonly string[];
    }
  | {
      readonly ok: false;
      readonly reason: "no-file" | "not-text" | "no-line" | "not-standing";
      readonly lines?: number;
    };

/** One side of a job's difference, as the text that lines are counted in; absent: the present file. */
export interface SeenInJob {
  readonly jobId: string;
  readonly side: "before" | "after";
}

type SeenText =
  | {
      readonly ok: true;
      readonly lines: readonly string[];
      /** The newest job that may have written one of them, and the job after it where the text is not the present. */
      readonly place: number;
      readonly later: string | null;
    }
  | Extract<Why, { ok: false }>;

export function readSeenText({ stack, files }: WhyDeps, path: string, seen?: SeenInJob): SeenText {
  const at = seen === undefined ? -1 : stack.jobs.findIndex(({ jobId }) => jobId === seen.jobId);
  if (seen !== undefined && at === -1) return { ok: false, reason: "not-standing" };
  if (seen === undefined && files.look(path).kind !== "file") return { ok: false, reason: "no-file" };
  const bytes = seen === undefined ? files.read(path) : stack.difference(at, path)?.[seen.side];
  if (bytes == null) return { ok: false, reason: "no-file" };
  const lines = decodeLines(bytes);
  if (lines === null) return { ok: false, reason: "not-text" };
  if (seen === undefined) return { ok: true, lines, place: stack.jobs.length - 1, later: null };
  return seen.side === "after"
    ? { ok: true, lines, place: at, later: null }
    : { ok: true, lines, place: at - 1, later: seen.jobId };
}

/** Who wrote a line of a file, through later jobs, renames and changes by hand. Lines count from 1. */
export async function findWhy(deps: WhyDeps, path: string, line: number, seen?: SeenInJob): Promise<Why> {
  const start = readSeenText(deps, path, seen);
  if (!start.ok) return start;
  const { lines, place, later } = start;
  const text = lines[line - 1];
  if (text === undefined || line < 1) return { ok: false, reason: "no-line", lines: lines.length };
  const found = traceJobs(deps, { path, lines, line: line - 1, place, later });
  const isOlder = found.origin === null || (found.origin.kind === "by-hand" && found.origin.before === null);
  const now = isOlder ? findLineNow(deps, path, seen === undefined ? null : lines, line) : null;
  const commit = now === null ? null : await deps.blame(path, now);
  const origin: WhyOrigin =
    commit !== null ? { kind: "commit", commit } : (found.origin ?? { kind: "older" });
  const numbers = numbersOf(deps.archive, jobsOfOrigin(origin));
  return { ok: true, path, line, text, origin, numbers, renamedFrom: found.renamedFrom };
}

function jobsOfOrigin(origin: WhyOrigin): readonly string[] {
  if (origin.kind === "gone") return [origin.jobId];
  return origin.kind === "by-hand" ? [origin.after, origin.before].filter((one) => one !== null) : [];
}

/** The place of an earlier text's line in the present file, which is what git can be asked about. */
function findLineNow(
  deps: WhyDeps,
  path: string,
  earlier: readonly string[] | null,
  line: number,
): number | null {
  if (earlier === null) return line;
  const present = readSeenText(deps, path);
  const kept = present.ok ? traceLine(present.lines, earlier, line - 1) : null;
  return kept?.kind === "kept" ? kept.line + 1 : null;
}

interface TracedLine {
  readonly path: string;
  readonly lines: readonly string[];
  /** From 0. */
  readonly line: number;
  readonly place: number;
  readonly later: string | null;
}

/** Follows a line back through the jobs of its file. The origin is null where it is older than all of them. */
function traceJobs(
  deps: WhyDeps,
  start: TracedLine,
): { readonly origin: WhyOrigin | null; readonly renamedFrom: readonly string[] } {
  const { stack } = deps;
  const renamedFrom: string[] = [];
  let { path, lines, line, later } = start;
  for (let { place } = start; place >= 0; place--) {
    const job = stack.jobs[place];
    if (job === undefined || !job.paths.includes(path)) continue;
    const { jobId } = job;
    const difference = stack.difference(place, path);
    const after = difference?.after == null ? null : decodeLines(difference.after);
    if (difference?.before === undefined || after === null)
      return { origin: { kind: "gone", jobId }, renamedFrom };
    const since = traceLine(after, lines, line);
    if (since.kind === "written")
      return { origin: { kind: "by-hand", after: jobId, before: later }, renamedFrom };
    line = since.line;
    later = jobId;
    let before = difference.before === null ? null : decodeLines(difference.before);
    if (difference.before === null) {
      const earlier = findEarlierName(stack, place, path, after);
      if (earlier !== null) {
        renamedFrom.push(earlier.path);
        ({ path, lines: before } = earlier);
      }
    }
    const origin = traceLine(before ?? [], after, line);
    if (origin.kind === "written")
      return {
        origin: { kind: "job", job: readReason(deps, jobId), replaced: origin.replaced },
        renamedFrom,
      };
    ({ line } = origin);
    lines = before ?? [];
  }
  return { origin: null, renamedFrom };
}

function findEarlierName(stack: JobStack, place: number, path: string, lines: readonly string[]) {
  const deleted = [...stack.differences(place)].flatMap(({ path: file, before, after }) => {
    const old = after !== null || before == null || file === path ? null : decodeLines(before);
    return old === null ? [] : [{ lines: old, file: { path: file, lines: old } }];
  });
  return findRenamed(lines, deleted);
}

export interface RemovedText {
  readonly path: string;
  /** From 1, in the file before the job. */
  readonly line: number;
  readonly text: string;
  /** The lines that took its place. */
  readonly replacedBy: readonly string[];
  readonly job: JobReason;
}

const MOST_REMOVED = 20;

/** Newest first. */
export async function findRemoved(deps: WhyDeps, text: string): Promise<readonly RemovedText[]> {
  const { compareLines } = await import("../../domain/patch/compare-lines.ts");
  const found: RemovedText[] = [];
  for (const place of deps.stack.findRemoved(text)) {
    const job = readReason(deps, deps.stack.jobs[place]?.jobId ?? "");
    for (const { path, before, after } of deps.stack.differences(place)) {
      const [old, now] = [before, after].map((bytes) => (bytes == null ? [] : (decodeLines(bytes) ?? [])));
      for (const change of compareLines(old ?? [], now ?? []))
        for (let at = change.old[0]; at < change.old[1]; at++)
          if (old?.[at]?.includes(text))
            found.push({
              path,
              line: at + 1,
              text: old[at] ?? "",
              replacedBy: (now ?? []).slice(...change.now),
              job,
            });
    }
    if (found.length >= MOST_REMOVED) break;
  }
  return found.slice(0, MOST_REMOVED);
}

export function readReason({ archive }: Pick<WhyDeps, "archive">, jobId: string): JobReason {
  return toReason(archive.read(jobId), jobId, archive.events(jobId));
}

export function toReason(
  record: StoredJob | null,
  jobId: string,
  journal: readonly JournalLine[],
): JobReason {
  const events = journal.map(({ event }) => event);
  const isLanded = record?.state === "committed" || record?.state === "undone";
  // A coder that is asked again over a green draft, and changes nothing more, makes no other attempt.
  const isAttempt = (event: JobEvent) => !isLanded || event.type !== "doing" || event.doing !== "asking";
  const attempts = events
    .filter(isAttempt)
    .reduce((most, event) => Math.max(most, "attempt" in event ? (event.attempt ?? 0) : 0), 0);
  const used = events.findLast((event) => event.type === "doing" && event.cost_usd !== undefined);
  const { tokens = 0, cost_usd: costUsd = null } = used?.type === "doing" ? used : {};
  const asked = events.findLast((event) => event.type === "doing" && event.doing === "asking");
  // The successful part of each attempt stays, so every attempt's plan is a reason.
  const plans = new Set(events.flatMap((event) => (event.type === "planned" ? [event.plan] : [])));
  const checks = events.flatMap((event) =>
    event.type === "check_finished" && event.over === "draft" && event.altered !== true ? [event] : [],
  );
  const judged = checks.at(-1)?.attempt;
  const last = new Map(
    checks.filter(({ attempt }) => attempt === judged).map((check) => [nameCheck(check.command), check]),
  );
  return {
    jobId,
    ...(record?.number !== undefined && { number: record.number }),
    at: record?.createdAt ?? "",
    source: record?.source ?? "",
    title: record?.title ?? "",
    request: record?.request ?? "",
    by: asked?.type === "doing" ? asked.detail : "",
    plan: [...plans].join("\n→ "),
    checks: [...last].map(([command, { exit_code: exitCode, output }]) => ({
      command,
      exitCode,
      counts: readKeptCounts(output),
    })),
    failedCmds: record?.failedCmds ?? 0,
    attempts,
    tokens,
    costUsd,
  };
}

/** `provider/model` behind the agent's name, or the agent alone; null where neither wrote it. */
export function modelOf({ by }: Pick<JobReason, "by">): string | null {
  return by === "" ? null : (/\(([^()]+)\)$/.exec(by)?.[1] ?? by);
}

function decodeLines(bytes: Uint8Array): string[] | null {
  return isBinaryContent(bytes) ? null : toLines(new TextDecoder().decode(bytes));
}

/** The file and the line of `src/a.ts:12`, or of an editor's `src/a.ts (L12:14)`; null where the words name no line. */
export function readFileLine(word: string): { readonly path: string; readonly line: number } | null {
  const [, path = "", line, linked] = /^(.+?)(?::(\d+)| \(L(\d+)\D?\d*\))$/s.exec(word) ?? [];
  return path === "" ? null : { path, line: Number(line ?? linked) };
}
