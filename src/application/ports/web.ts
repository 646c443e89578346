import type { TaskFigures } from "../../domain/tasks/task-steps.ts";

/**
 * What the console shows of other parts of the house. Each reader is optional: where a part is not set up, its page
 * says so. None of them rejects for want of data; they are asked when a page is looked at.
 */
export interface ConsoleSources {
  readonly sessions?: SessionReader;
  readonly tasks?: TaskReader;
  readonly environments?: EnvironmentReader;
}

export interface SessionReader {
  /** Of these chats (`<channel>:<chatId>`), newest first. */
  list(keys: readonly string[], limit: number): Promise<readonly SessionSummary[]>;
  /** The notes that the cut-overs of past days left; newest first. */
  notes(keys: readonly string[], limit: number): Promise<readonly DailyNote[]>;
}

export interface SessionSummary {
  /** `YYYYMMDD-<channel>-<chatId>`. */
  readonly id: string;
  readonly key: string;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly turns: number;
}

export interface DailyNote {
  readonly day: string;
  readonly key: string;
  readonly text: string;
}

export interface TaskReader {
  /** Newest first. */
  list(limit: number): Promise<readonly TaskSummary[]>;
}

export interface TaskSummary {
  readonly id: string;
  readonly title: string;
  /** As the task's state machine names it. */
  readonly state: string;
  readonly tone: "waiting" | "running" | "good" | "bad";
  readonly source: string;
  readonly url?: string;
  readonly updatedAt: string;
  /** How far it is: 3/60. */
  readonly step: string;
  readonly figures: TaskFigures;
}

export interface EnvironmentReader {
  list(): Promise<readonly EnvironmentSummary[]>;
}

export interface EnvironmentSummary {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly state: string;
  readonly tone: "waiting" | "running" | "good" | "bad";
  readonly createdAt: string;
}
