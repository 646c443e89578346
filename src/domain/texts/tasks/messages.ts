import type { TaskState } from "../../tasks/state.ts";

export interface TaskMessages {
  // Why a task ended.
  totalTime(seconds: number): string;
  maxLoops(loops: number): string;
  metaFailed(reason: string): string;
  metaMalformed(problem: string): string;
  conflict(jobId: string, paths: readonly string[]): string;
  testFailed(exitCode: number): string;
  readonly allCriteria: string;
  readonly workerDone: string;

  // The container and the worker.
  engineDown(host: string): string;
  engineForbidden(host: string): string;
  imageMissing(image: string, detail: string): string;
  containerFailed(detail: string): string;
  remoteEngine(host: string): string;
  setup(step: "pulling" | "building" | "starting" | "copying", what: string): string;
  workerTimedOut(seconds: number): string;
  workerEnded(exitCode: number): string;
  workerKilled(signal: string): string;
  workerLost(detail: string): string;
  workerAborted: string;
  unauthorized(kind: string, variables: readonly string[]): string;
  unreachable(kind: string, detail: string): string;
  noCredentials(kind: string, variables: readonly string[]): string;

  // The command line.
  readonly noTaskFile: string;
  unknownTask(id: string): string;
  taskBusy(id: string): string;
  taskDone(id: string): string;
  prdUnreadable(path: string): string;
  taskInvalid(file: string): string;
  previewNeedsNoMeta: string;
  noModel(reason: string): string;
  progress(facts: {
    readonly state: TaskState;
    readonly loop: number;
    readonly maxLoops: number;
    readonly elapsed: string;
    readonly last: string;
  }): string;
  ended(facts: {
    readonly state: TaskState;
    readonly id: string;
    readonly summary: string;
    readonly note: string;
    readonly jobs: readonly string[];
  }): string;
  interrupted(id: string): string;

  // The note.
  readonly note: {
    readonly state: string;
    readonly asked: string;
    readonly worker: string;
    readonly criteria: string;
    readonly noCriteria: string;
    readonly turn: string;
    readonly decision: string;
    readonly prompt: string;
    readonly run: string;
    readonly output: string;
    readonly changes: string;
    readonly noChanges: string;
    readonly test: string;
    readonly verdicts: string;
    readonly cost: string;
    readonly result: string;
    readonly passed: string;
    readonly failed: string;
    readonly undo: string;
  };
}
