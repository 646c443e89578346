import type { TaskEvent, TaskFacts, TaskFailureCode } from "../../domain/tasks/events.ts";
import { renderNote, taskJson } from "../../domain/tasks/task-note.ts";
import { recordOf, type TaskRecord, withEvent } from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";
import type { TaskFiles } from "../ports/task-files.ts";

export interface RunDeps {
  readonly files: TaskFiles;
  readonly messages: TaskMessages;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onRecord?: (record: TaskRecord, event: TaskEvent) => void;
}

/** A task ends by itself only through these. */
export class RunEnded extends Error {
  constructor(readonly event: NewEvent) {
    super(event.type);
  }
}

/** An event without its time, which the run gives it. */
type NewEvent = TaskEvent extends infer E ? (E extends TaskEvent ? Omit<E, "at"> : never) : never;

/** A task while it runs: its record so far, and its limits. */
export interface OpenedRun {
  readonly record: TaskRecord;
  /** Writes it down before anything else happens. */
  note(event: NewEvent): void;
  failure(code: TaskFailureCode, reason: string): RunEnded;
  remainingMs(): number;
  /** Throws the end of a task that was stopped, or whose time is over. */
  checkLimits(): void;
}

export function openRun(parts: RunDeps, start: TaskFacts | "resume"): OpenedRun {
  const { files, messages, signal } = parts;
  const at = () => parts.now().toISOString();
  const opening: TaskEvent =
    start === "resume" ? { type: "resumed", at: at() } : { type: "created", at: at(), task: start };
  const before = recordOf(start === "resume" ? files.events() : [opening]);
  if (before === null) throw new Error("there is no such task");
  let record = start === "resume" ? withEvent(before, opening) : before;
  /** Since when the time of this process counts. */
  const startedAt = parts.now().getTime();
  const publish = (event: TaskEvent) => {
    files.append(event);
    files.writeNote(renderNote(record, messages), taskJson(record));
    parts.onRecord?.(record, event);
  };
  const failure: OpenedRun["failure"] = (code, reason) => new RunEnded({ type: "failed", code, reason });
  const remainingMs = () => record.facts.maxTotalTimeSec * 1000 - (parts.now().getTime() - startedAt);
  publish(opening);
  return {
    get record() {
      return record;
    },
    note(event) {
      const dated = { ...event, at: at() } as TaskEvent;
      record = withEvent(record, dated);
      publish(dated);
    },
    failure,
    remainingMs,
    checkLimits() {
      if (signal.aborted) throw new RunEnded({ type: "interrupted" });
      if (remainingMs() <= 0) throw failure("total-time", messages.totalTime(record.facts.maxTotalTimeSec));
    },
  };
}
