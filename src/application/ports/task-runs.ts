import type { TaskFile } from "../../config/task.ts";
import type { TaskEvent } from "../../domain/tasks/events.ts";
import type { TaskRecord } from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";
import type { WorkerProgress } from "./worker-executor.ts";

/** Task files on a workspace. */
export interface OpenTasks {
  readonly texts: TaskMessages;
  /** The task file a task was made of; null when there is no such task here. */
  sourceOf(id: string): string | null;
  /** Never rejects for what can be expected. */
  run(request: TaskRequest): Promise<TaskRun>;
}

export interface TaskRequest {
  /** An existing task to go on with. */
  readonly resume?: string;
  readonly file: TaskFile;
  /** As it was read. */
  readonly source: string;
  readonly workerEnv: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly noMeta: boolean;
  readonly preview: boolean;
  readonly signal: AbortSignal;
  readonly onRecord: (record: TaskRecord, event: TaskEvent) => void;
  readonly onProgress: (progress: TaskProgress) => void;
}

export type TaskProgress = WorkerProgress | { readonly kind: "setup"; readonly text: string };

export type TaskRun =
  | {
      readonly ok: true;
      readonly record: TaskRecord;
      readonly interrupted: boolean;
      readonly note: string;
      /** The document of the note. */
      readonly json: string;
    }
  | {
      readonly ok: false;
      readonly code:
        | "prd-unreadable"
        | "unknown-environment"
        | "task-busy"
        | "task-complete"
        | "unknown-task"
        | "no-model";
      readonly text: string;
    };
