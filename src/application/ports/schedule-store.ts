import type { NewMessage } from "./serve.ts";

/** When the schedules of one workspace are due, for all processes that share the store, by the database's clock. */
export interface ScheduleStore {
  /** The database's time, and what is known of each schedule by its name. */
  times(): Promise<{ readonly now: Date; readonly known: ReadonlyMap<string, DueSchedule> }>;
  /** Sets when a schedule is due next, unless another process did since `was` (null: it was not known). */
  set(name: string, was: DueSchedule | null, next: DueSchedule): Promise<boolean>;
  /** The same, and the message of the time that has come is stored with it, both or neither. Null when it was not set. */
  fire(
    name: string,
    was: DueSchedule,
    next: DueSchedule,
    message: NewMessage,
  ): Promise<{ readonly id: string } | null>;
}

export interface DueSchedule {
  /** The expression and its zone: another one makes another time. */
  readonly rule: string;
  readonly at: Date;
}
