import {
  addUsage,
  type Criterion,
  NO_USAGE,
  type TaskEvent,
  type TaskFacts,
  type TaskFailureCode,
  type TaskUsage,
  type TestRun,
  type Verdict,
  type WorkerRun,
} from "./events.ts";
import { nextState, type TaskState } from "./state.ts";
import type { TaskStep } from "./step.ts";
import { stepsOfEvent } from "./steps-of-event.ts";

/** One decision of the planner, and what came of it. */
export interface TaskLoop {
  readonly loop: number;
  readonly at: string;
  readonly action: "run_worker" | "mark_complete";
  readonly reason: string;
  readonly prompt: string;
  readonly run?: WorkerRun;
  readonly test?: TestRun;
  /** Called done by the planner, refused because of the tests. */
  readonly refused?: boolean;
  readonly verdicts?: readonly Verdict[];
  readonly assessment?: string;
}

/** A task as its events tell it. */
export interface TaskRecord {
  readonly facts: TaskFacts;
  readonly state: TaskState;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly criteria: readonly Criterion[];
  readonly loops: readonly TaskLoop[];
  /** How many of them were made before a task that had failed was resumed; they do not count against its limit. */
  readonly loopsBefore: number;
  readonly usage: TaskUsage;
  /** Everything that happened, in the words of tasks of every kind. */
  readonly steps: readonly TaskStep[];
  /** What a person should know of the container and its runs. */
  readonly notes: readonly string[];
  /** Whether the last word of a process was that it stopped before the end. */
  readonly interrupted: boolean;
  readonly end: { readonly summary: string; readonly code?: TaskFailureCode } | null;
}

/** Null when the events do not begin with one that creates the task. */
export function recordOf(events: readonly TaskEvent[]): TaskRecord | null {
  const [first, ...rest] = events;
  if (first?.type !== "created") return null;
  return rest.reduce(withEvent, {
    facts: first.task,
    state: "PENDING",
    createdAt: first.at,
    updatedAt: first.at,
    criteria: [],
    loops: [],
    loopsBefore: 0,
    usage: NO_USAGE,
    steps: stepsOfEvent(first, first.task.kind),
    notes: [],
    interrupted: false,
    end: null,
  });
}

export function withEvent(record: TaskRecord, event: TaskEvent): TaskRecord {
  const state = nextState(record.state, event.type);
  if (state === null) throw new Error(`${event.type} cannot follow in state ${record.state}`);
  const next: TaskRecord = {
    ...record,
    state,
    updatedAt: event.at,
    interrupted: event.type === "interrupted",
    usage: addUsage(record.usage, usageOf(event)),
    steps: [...record.steps, ...stepsOfEvent(event, record.facts.kind)],
  };
  switch (event.type) {
    case "prepared":
      return { ...next, notes: event.notes };
    case "refused":
      return withLastLoop(next, { refused: true });
    case "planned":
      return { ...next, criteria: event.criteria };
    case "decided": {
      const { loop, at, action, reason, prompt } = event;
      return { ...next, loops: [...record.loops, { loop, at, action, reason, prompt }] };
    }
    case "worker-finished":
      return withLastLoop(
        { ...next, notes: [...new Set([...record.notes, ...(event.run.notes ?? [])])] },
        { run: event.run },
      );
    case "tested":
      return withLastLoop(next, { test: event.test });
    case "assessed":
      return withLastLoop(next, { verdicts: event.verdicts, assessment: event.summary });
    case "completed":
      return { ...next, end: { summary: event.summary } };
    case "failed":
      return { ...next, end: { summary: event.reason, code: event.code } };
    // Taken up again: what ended it before no longer counts. What failed before its plan is planned.
    case "resumed":
      return {
        ...next,
        end: null,
        ...(record.end !== null && { loopsBefore: record.loops.length }),
        ...(record.loops.length === 0 && { state: "PENDING" }),
      };
    default:
      return next;
  }
}

/** The newest test, if one ran. */
export function lastTest(record: TaskRecord): TestRun | undefined {
  return record.loops.findLast((one) => one.test !== undefined)?.test;
}

export function lastRun(record: TaskRecord): WorkerRun | undefined {
  return record.loops.findLast((one) => one.run !== undefined)?.run;
}

/** The test of what stands now: none since the last worker run is null, and so is a task without tests. */
export function testOfNow(record: TaskRecord): TestRun | null {
  const since = record.loops.findLastIndex(({ action }) => action === "run_worker");
  return record.loops.slice(Math.max(0, since)).findLast(({ test }) => test !== undefined)?.test ?? null;
}

/** The criteria with the newest verdict on each. */
export function criteriaWithVerdicts(
  record: TaskRecord,
): readonly (Criterion & { readonly verdict?: Verdict })[] {
  const verdicts = record.loops.findLast((one) => one.verdicts !== undefined)?.verdicts ?? [];
  return record.criteria.map((criterion) => {
    const verdict = verdicts.find(({ id }) => id === criterion.id);
    return { ...criterion, ...(verdict && { verdict }) };
  });
}

function withLastLoop(record: TaskRecord, more: Partial<TaskLoop>): TaskRecord {
  const last = record.loops.at(-1);
  return last ? { ...record, loops: [...record.loops.slice(0, -1), { ...last, ...more }] } : record;
}

function usageOf(event: TaskEvent): TaskUsage {
  if (event.type === "worker-finished") return event.run.usage;
  return "usage" in event ? event.usage : NO_USAGE;
}
