import type { PreviewCommit } from "../../application/work/commit-preview.ts";
import { describeConflict, describeConflicts } from "../../application/work/report/describe-conflict.ts";
import type { StopJob } from "../../application/work/stop-job.ts";
import type { TakeBack } from "../../application/work/take-back.ts";
import type { Messages } from "../../domain/texts/messages.ts";

/** What came of it, for a person and for a program. */
export interface Outcome {
  readonly ok: boolean;
  /** 200, or why not: 404 unknown, 409 in the way. */
  readonly status: 200 | 404 | 409;
  readonly code: string;
  readonly text: string;
  readonly offerForce?: boolean;
}

export function takeBackOutcome(
  words: Messages,
  workspace: string,
  outcome: TakeBack,
  direction: "undo" | "redo",
): Outcome {
  const refused = (code: string, text: string): Outcome => ({ ok: false, status: 409, code, text });
  switch (outcome.status) {
    case "done": {
      const say = direction === "undo" ? words.undone : words.redone;
      const lines = outcome.jobs.flatMap(({ job, changes, left }) => {
        const moved = left.filter(({ reason }) => reason === "moved-on").map(({ path }) => path);
        return [
          say(job.jobId, changes.length),
          ...(moved.length > 0 ? [words.undonePartly({ jobId: job.jobId, refs: moved })] : []),
        ];
      });
      return { ok: true, status: 200, code: "done", text: lines.join("\n") };
    }
    case "nothing":
      return refused("nothing", direction === "undo" ? words.nothingToUndo : words.nothingToRedo);
    case "unknown":
      return { ok: false, status: 404, code: "unknown-job", text: words.unknownJob(outcome.name) };
    case "conflict": {
      const paths = outcome.conflicts.map((conflict) => describeConflict(words, conflict));
      const text = words.undoConflict({ jobId: outcome.job.jobId, paths });
      return { ...refused("conflict", text), offerForce: direction === "undo" };
    }
    case "refused": {
      const { jobId, pid } = outcome.job;
      switch (outcome.reason) {
        case "busy":
          return refused("busy", words.workspaceBusy(workspace));
        case "running":
          return refused("running", words.jobRunning(jobId, pid ?? 0));
        case "evicted":
          return refused("evicted", words.undoUnavailable(jobId));
        case "not-undoable":
          return refused("not-undoable", `${words.undoUnavailable(jobId)} ${words.shellNotUndoable}`);
        case "wrong-state":
          return refused("wrong-state", words.wrongState(jobId, outcome.state));
      }
    }
  }
}

export function previewOutcome(
  words: Messages,
  workspace: string,
  jobId: string,
  outcome: PreviewCommit,
): Outcome {
  const refused = (code: string, text: string): Outcome => ({ ok: false, status: 409, code, text });
  switch (outcome.status) {
    case "done":
      return { ok: true, status: 200, code: "done", text: words.previewApplied(jobId) };
    case "unknown":
      return { ok: false, status: 404, code: "unknown-job", text: words.unknownJob(jobId) };
    case "not-a-preview":
      return refused("not-a-preview", words.notAPreview(jobId));
    case "busy":
      return refused("busy", words.workspaceBusy(workspace));
    case "conflict":
      return refused("conflict", describeConflicts(words, jobId, outcome.conflicts));
  }
}

export function stopOutcome(words: Messages, jobId: string, outcome: StopJob): Outcome {
  switch (outcome.status) {
    case "stopped":
      return { ok: true, status: 200, code: "stopped", text: words.jobStopped(jobId) };
    case "unknown":
      return { ok: false, status: 404, code: "unknown-job", text: words.unknownJob(jobId) };
    case "not-running":
      return { ok: false, status: 409, code: "not-running", text: words.jobNotRunning(jobId) };
  }
}
