import type { ChecksRecord } from "../checks/findings.ts";
import { nameJob } from "../jobs/result.ts";
import { addUsage, NO_USAGE, type TaskUsage } from "../models/model-facts.ts";
import { cutMiddle } from "../texts/format-text.ts";
import type { StepFacts, TaskStep } from "./task-steps.ts";

/** Everything that happens to a task, in order: the journal from which its record, its note and a resume are built. */
export type TaskEvent = TaskEventFacts & { readonly at: string };

export type TaskEventFacts =
  | { readonly type: "created"; readonly task: TaskFacts }
  /** The container exists. `notes`: facts about it for the user. */
  | { readonly type: "prepared"; readonly image: string; readonly notes: readonly string[] }
  | { readonly type: "planning" }
  | { readonly type: "planned"; readonly criteria: readonly Criterion[]; readonly usage: TaskUsage }
  /** A turn of the planning model. */
  | {
      readonly type: "decided";
      readonly loop: number;
      readonly action: "run_worker" | "mark_complete";
      readonly reason: string;
      readonly prompt: string;
      readonly usage: TaskUsage;
    }
  | { readonly type: "worker-started"; readonly loop: number }
  | { readonly type: "worker-finished"; readonly loop: number; readonly run: WorkerRun }
  | { readonly type: "tested"; readonly loop: number; readonly test: TestRun }
  /** The result of applying the change of the last run, with earlier ones that had not landed. */
  | { readonly type: "landed"; readonly loop: number; readonly job: RunJob }
  /** The planner declared it done, but the tests fail. */
  | { readonly type: "refused"; readonly loop: number; readonly exitCode: number | null }
  | { readonly type: "validating"; readonly loop: number }
  | {
      readonly type: "assessed";
      readonly loop: number;
      readonly verdicts: readonly Verdict[];
      readonly summary: string;
      readonly usage: TaskUsage;
    }
  | { readonly type: "resumed" }
  | { readonly type: "interrupted" }
  | { readonly type: "completed"; readonly summary: string }
  | { readonly type: "failed"; readonly code: TaskFailureCode; readonly reason: string };

export type TaskFailureCode =
  | "container"
  | "image"
  | "engine"
  | "credentials"
  | "meta"
  | "max-loops"
  | "total-time"
  | "worker"
  | "test"
  | "conflict"
  /** A hook of the user prevented the change from landing. */
  | "hook"
  /** The container lacks a program without which nothing can be done or judged. */
  | "cannot-run"
  /** The day's budget is spent. */
  | "budget"
  | "bug";

/** The request. It contains names of variables, never their values. */
export interface TaskFacts {
  readonly id: string;
  readonly title: string;
  readonly repo: string;
  readonly description: string;
  readonly prd: string;
  readonly test: { readonly command: string; readonly cwd: string } | null;
  readonly kind: string;
  readonly image: string;
  readonly maxLoops: number;
  readonly maxRunTimeSec: number;
  readonly maxTotalTimeSec: number;
  readonly envNames: readonly string[];
  /** The planning model; null with `--no-meta`. */
  readonly meta: string | null;
}

export interface Criterion {
  readonly id: string;
  readonly description: string;
}

export interface Verdict {
  readonly id: string;
  readonly passed: boolean;
  readonly reason: string;
}

/** One run of a worker CLI, and the job that it was. */
export interface WorkerRun {
  readonly id: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Null if it was ended before it finished. */
  readonly exitCode: number | null;
  /** Standard output and error, capped. */
  readonly rawOutput: string;
  readonly summary: string;
  /** Why it counts as failed; null when it does not. */
  readonly error: string | null;
  readonly usage: TaskUsage;
  /** The files that the CLI claims to have edited. */
  readonly saidChanged: readonly string[];
  /** The program of the worker CLI, where the container has none. */
  readonly missing?: string;
  /** Notes for the user. */
  readonly notes?: readonly string[];
  /** The actual change, and where it is kept; null when nothing could be staged. */
  readonly job: RunJob | null;
}

export interface RunJob {
  readonly id: string;
  readonly number?: number;
  readonly outcome: string;
  readonly changes: readonly { readonly path: string; readonly kind: string }[];
  /** Its change as a unified diff, head and tail of a long one. */
  readonly diff: string;
  readonly notes: readonly string[];
  /** Paths that changed on the host meanwhile, so nothing was applied. */
  readonly conflicts: readonly string[];
}

export interface TestRun {
  readonly command: string;
  readonly exitCode: number | null;
  readonly output: string;
  readonly durationMs: number;
  /** Why it does not pass, where the exit code does not tell. */
  readonly error: string | null;
  /** The verdict of the test on the change, as for any coder's; absent where only the exit code was looked at. */
  readonly judged?: ChecksRecord;
}

export function passes(test: TestRun): boolean {
  return test.exitCode === 0 && test.error === null;
}

export type TaskState = "PENDING" | "PLANNING" | "RUNNING" | "VALIDATING" | "COMPLETE" | "FAILED";

type EventType = TaskEvent["type"];

/** PENDING → PLANNING → RUNNING → VALIDATING → COMPLETE | FAILED, and from a verdict that is not enough back to RUNNING. */
const MOVES: Readonly<Record<TaskState, Partial<Record<EventType, TaskState>>>> = {
  PENDING: { planning: "PLANNING", failed: "FAILED" },
  PLANNING: { planned: "RUNNING", failed: "FAILED", resumed: "PENDING" },
  RUNNING: { validating: "VALIDATING", failed: "FAILED" },
  VALIDATING: { decided: "RUNNING", completed: "COMPLETE", failed: "FAILED", resumed: "RUNNING" },
  COMPLETE: {},
  FAILED: { resumed: "RUNNING" },
};

/** Events after which the task is in the same state as before. */
const STAYS: Readonly<Record<TaskState, readonly EventType[]>> = {
  PENDING: ["prepared", "interrupted", "resumed"],
  PLANNING: ["prepared", "interrupted"],
  RUNNING: [
    ...(["prepared", "decided", "worker-started", "worker-finished", "tested", "landed"] as const),
    ...(["refused", "interrupted", "resumed"] as const),
  ],
  VALIDATING: ["assessed", "landed", "interrupted"],
  COMPLETE: [],
  FAILED: [],
};

/** The state after an event; null when the event cannot happen in this state. */
export function nextState(state: TaskState, event: EventType): TaskState | null {
  return STAYS[state].includes(event) ? state : (MOVES[state][event] ?? null);
}

export function isEnded(state: TaskState): boolean {
  return state === "COMPLETE" || state === "FAILED";
}

const OUTPUT_CHARS = 4000;

/** An event of a task file's journal as steps, the form in which tasks of every kind are reported. */
function stepsOfEvent(event: TaskEvent, worker: string): readonly TaskStep[] {
  return toStepFacts(event, worker).map((facts) => ({ ...facts, at: event.at }));
}

function toStepFacts(event: TaskEvent, worker: string): readonly StepFacts[] {
  switch (event.type) {
    case "created":
    case "resumed":
      return [{ kind: "taken-up", again: event.type === "resumed" }];
    case "prepared":
      return [{ kind: "prepared", environment: event.image, troubles: event.notes }];
    case "planning":
    case "validating":
      return [{ kind: "phase", phase: event.type }];
    case "planned":
      return [
        saidStep("", event.usage),
        { kind: "planned", plan: event.criteria.map(({ description }) => description), environment: null },
      ];
    case "decided":
      return [saidStep(`${event.action}: ${event.reason}`, event.usage)];
    case "worker-started":
      return [{ kind: "phase", phase: "running" }];
    case "worker-finished": {
      const { run } = event;
      const { exitCode, startedAt, finishedAt, summary, rawOutput, usage, job } = run;
      return [
        saidStep(summary, usage),
        {
          kind: "command",
          command: worker,
          exitCode: exitCode ?? -1,
          durationMs: Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) || 0,
          output: cutMiddle(rawOutput, OUTPUT_CHARS),
        },
        ...(job?.changes ?? []).map(({ path }) => ({ kind: "edited", path, ok: true }) as const),
      ];
    }
    case "tested": {
      const { command, exitCode, durationMs } = event.test;
      return [{ kind: "checked", command, exitCode, durationMs, counts: null }];
    }
    case "refused":
      return [];
    case "landed":
      return [{ kind: "landed", job: event.job.id, outcome: event.job.outcome }];
    case "assessed":
      return [saidStep(event.summary, event.usage)];
    case "interrupted":
      return [{ kind: "ended", state: "interrupted", code: null, message: "" }];
    case "completed":
      return [{ kind: "ended", state: "COMPLETE", code: null, message: event.summary }];
    case "failed":
      return [{ kind: "ended", state: "FAILED", code: event.code, message: event.reason }];
  }
}

function saidStep(text: string, { inputTokens, outputTokens, costUsd }: TaskUsage = NO_USAGE): StepFacts {
  return { kind: "said", text: cutMiddle(text, OUTPUT_CHARS), inputTokens, outputTokens, costUsd };
}

/** One decision of the planner with its outcome. */
export interface TaskLoop extends Omit<Extract<TaskEvent, { type: "decided" }>, "type" | "usage"> {
  readonly run?: WorkerRun;
  readonly test?: TestRun;
  /** Declared done by the planner, refused because of the tests. */
  readonly refused?: boolean;
  readonly verdicts?: readonly Verdict[];
  readonly assessment?: string;
}

/** A task, derived from its events. */
export interface TaskRecord {
  readonly facts: TaskFacts;
  readonly state: TaskState;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly criteria: readonly Criterion[];
  readonly loops: readonly TaskLoop[];
  /** How many of them were made before a task that had failed was resumed; they do not count against its limit. */
  readonly loopsBefore: number;
  /** How many of them were made before it was resumed, which is in another container. */
  readonly loopsElsewhere: number;
  readonly usage: TaskUsage;
  /** Everything that happened, in the words of tasks of every kind. */
  readonly steps: readonly TaskStep[];
  /** Notes for the user about the container and its runs. */
  readonly notes: readonly string[];
  /** Whether the last event says that a process stopped before the end. */
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
    loopsElsewhere: 0,
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
    case "landed":
      return withLandedJob(next, event.job);
    case "assessed":
      return withLastLoop(next, { verdicts: event.verdicts, assessment: event.summary });
    case "completed":
      return { ...next, end: { summary: event.summary } };
    case "failed":
      return { ...next, end: { summary: event.reason, code: event.code } };
    // The task is resumed: its earlier end no longer counts. A task that failed before its plan is planned.
    case "resumed":
      return {
        ...next,
        end: null,
        loopsElsewhere: record.loops.length,
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

/** The job that the last run left as a preview: its change, and all before it that did not land. Null where none waits. */
export function keptJob(record: TaskRecord): RunJob | null {
  const job = lastRun(record)?.job ?? null;
  return job?.outcome === "staged" && job.changes.length > 0 ? job : null;
}

/** The jobs of the task that landed with a change, oldest first. */
export function landedJobs({ loops }: TaskRecord): readonly RunJob[] {
  const jobs = loops.flatMap(({ run }) => run?.job ?? []);
  return jobs.filter(({ outcome, changes }) => outcome === "committed" && changes.length > 0);
}

/** The job as people name it. */
export const nameRunJob = ({ id, number }: Pick<RunJob, "id" | "number">) => nameJob({ jobId: id, number });

function withLandedJob(record: TaskRecord, job: RunJob): TaskRecord {
  const loops = record.loops.map((one) =>
    one.run?.job?.id === job.id ? { ...one, run: { ...one.run, job } } : one,
  );
  return { ...record, loops };
}

export function lastRun(record: TaskRecord): WorkerRun | undefined {
  return record.loops.findLast((one) => one.run !== undefined)?.run;
}

/** Null when none ran since the last worker run, and for a task without tests. */
export function testOfNow(record: TaskRecord): TestRun | null {
  const since = record.loops.findLastIndex(({ action }) => action === "run_worker");
  return record.loops.slice(Math.max(0, since)).findLast(({ test }) => test !== undefined)?.test ?? null;
}

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

/** The exit code of a shell when it has no such program. */
const NOT_FOUND = 127;

/** The program that the container lacks, by the shell's words. A path is the project's own: a worker can still make it. */
export function missingProgram({ command, exitCode, output }: TestRun): string | null {
  if (exitCode !== NOT_FOUND) return null;
  const named = /(?:^|\n)[^\n]*?([^\s:]+): (?:command )?not found\s*(?:\n|$)/.exec(output)?.[1];
  const program = named ?? firstWord(command);
  return program.includes("/") ? null : program;
}

/** The program that a command line begins with; empty if that is not a plain word. */
export function firstWord(command: string): string {
  const words = command.trim().split(/\s+/);
  const first = words.find((word) => !/^[A-Za-z_]\w*=/.test(word)) ?? "";
  return /^[\w.+-]+$/.test(first) ? first : "";
}
