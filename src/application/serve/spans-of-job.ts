import type { StoredJob } from "../ports/jobs.ts";
import type { JournalLine } from "../ports/journal.ts";
import type { SpanFacts } from "../ports/platform.ts";

/** A part of a job's time. */
export interface JobSpan {
  readonly name: string;
  readonly begun: Date;
  readonly ended: Date;
  readonly facts: SpanFacts;
  readonly error?: string;
}

export interface JobSpans {
  readonly whole: JobSpan;
  readonly parts: readonly JobSpan[];
}

/**
 * Where a job's time went, read off its journal: making the view, each command and check, sealing the difference, and the
 * commit into the workspace. Of a command only what kind it is: its text may be anything.
 */
export function spansOfJob(job: StoredJob, lines: readonly JournalLine[]): JobSpans {
  const begun = new Date(job.createdAt);
  const sealed = new Date(job.finishedAt);
  const parts = lines.flatMap(({ at, event }) => toJobSpans(new Date(at), event, lines));
  const firstCommand = lines.find(({ event }) => event.type === "command_started");
  const staged = firstCommand ?? lines.find(({ event }) => event.type === "job_started");
  if (staged !== undefined)
    parts.unshift({ name: "job stage", begun, ended: new Date(staged.at), facts: { kind: job.kind } });
  const swap = lines.find(({ event }) => event.type === "committed" || event.type === "conflict");
  const done = lines.findLast(
    ({ event }) => event.type === "command_finished" || event.type === "check_finished",
  );
  if (done !== undefined && (job.outcome === "committed" || job.outcome === "staged"))
    parts.push({
      name: "job seal",
      begun: new Date(done.at),
      ended: latest(new Date(done.at), sealed),
      facts: { changes: job.changes.length },
    });
  if (swap !== undefined) {
    const conflict = swap.event.type === "conflict" && { error: "conflict" };
    parts.push({ name: "job commit", begun: sealed, ended: new Date(swap.at), facts: {}, ...conflict });
  }
  const whole: JobSpan = {
    name: "job",
    begun,
    ended: parts.map(({ ended }) => ended).reduce(latest, sealed),
    facts: {
      "picoclaw.job_id": job.jobId,
      outcome: job.outcome,
      commands: job.totalCmds,
      failed_commands: job.failedCmds,
      changes: job.changes.length,
    },
    ...(!job.success && { error: job.outcome === "committed" ? "commands failed" : job.outcome }),
  };
  return { whole, parts };
}

function toJobSpans(ended: Date, event: JournalLine["event"], lines: readonly JournalLine[]): JobSpan[] {
  if (event.type === "command_finished") {
    const { index, attempt, success, duration } = event;
    const command = commandOf(lines, index, attempt);
    const facts = { index, attempt, type: command?.type, action: command?.action };
    const failed = !success && { error: "failed" };
    return [{ name: "job command", begun: before(ended, duration), ended, facts, ...failed }];
  }
  if (event.type === "check_finished") {
    const { over, attempt, exit_code, duration } = event;
    const red = exit_code !== 0 && { error: exit_code === null ? "did not end" : "red" };
    const facts = { over, attempt, exit_code };
    return [{ name: "check", begun: before(ended, duration), ended, facts, ...red }];
  }
  return [];
}

function commandOf(lines: readonly JournalLine[], index: number, attempt: number | undefined) {
  for (const { event } of lines)
    if (event.type === "command_started" && event.index === index && event.attempt === attempt)
      return event.command;
  return undefined;
}

const before = (at: Date, ms: number): Date => new Date(at.getTime() - ms);
const latest = (one: Date, other: Date): Date => (one > other ? one : other);
