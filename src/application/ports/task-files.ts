import type { TaskEvent } from "../../domain/tasks/events.ts";

/** Where a task's story is kept: a journal that a resume reads, and the note for people. */
export interface TaskFiles {
  /** Durable before it returns. */
  append(event: TaskEvent): void;
  events(): readonly TaskEvent[];
  /** Each replaces what was there at once. */
  writeNote(markdown: string, json: string): void;
  /** Where the note lies. */
  readonly notePath: string;
  /** Holds the task for this process; null when another one has it. */
  claim(): { release(): void } | null;
}
