import type { ProcessResult } from "../../application/ports/process.ts";
import type { Execution } from "../../application/jobs/execution.ts";
import { NO_USAGE, type RunJob, type WorkerRun } from "../../domain/tasks/events.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { Note } from "../../domain/jobs/note.ts";
import type { CliResult } from "./run-cli.ts";

interface JobWords {
  readonly wordNote: (note: Note) => string;
  readonly diffOf: (jobId: string) => Promise<string>;
  readonly mask: (text: string) => string;
}

/** A run that has not happened. */
export function emptyRun(id: string, startedAt: string): WorkerRun {
  return {
    id,
    startedAt,
    finishedAt: startedAt,
    exitCode: null,
    rawOutput: "",
    summary: "",
    error: null,
    usage: NO_USAGE,
    saidChanged: [],
    job: null,
  };
}

/** For the job's journal. Its output is the worker's last words: the event stream is kept with the task. */
export function processResult({ exec, error, findings }: CliResult): ProcessResult {
  const output = findings.summary;
  const said = { exitCode: exec.exitCode, signal: exec.signal, output, stdout: output, stderr: "" };
  const rest = { truncatedBytes: 0, durationMs: exec.durationMs };
  switch (exec.outcome) {
    case "exited":
      return { ...said, ...rest, outcome: "exited", exitCode: error === null ? 0 : exec.exitCode || 1 };
    case "signaled":
    case "timed-out":
    case "aborted":
      return { ...said, ...rest, outcome: exec.outcome };
    case "disconnected":
    case "not-started": {
      const message = exec.failure?.detail ?? exec.outcome;
      return {
        ...said,
        ...rest,
        outcome: "not-started",
        error: { reason: "unknown", message, cause: exec.failure },
      };
    }
  }
}

/** More of a diff than a planner is ever shown. */
const KEPT_DIFF = 32_000;

export async function toRunJob(
  execution: Execution,
  { wordNote, diffOf, mask }: JobWords,
): Promise<RunJob | null> {
  if (execution.status !== "ran") return null;
  const { result, outcome, conflicts } = execution;
  const diff = result.changes.length === 0 ? "" : await diffOf(result.jobId);
  return {
    id: result.jobId,
    outcome,
    changes: result.changes,
    diff: cutMiddle(mask(diff), KEPT_DIFF),
    notes: result.notes.map(wordNote),
    conflicts: outcome === "conflict" ? conflicts.map(({ path }) => path) : [],
  };
}

export function executionRefusal(execution: Execution): string {
  if (execution.status === "refused") return execution.refusal.message;
  return execution.status === "parse-error" ? execution.failure.message : "";
}

/** The run itself went well, but the job put something back. */
export function putBackText(error: string | undefined): string | null {
  return error === undefined || error === "" ? null : error;
}
